package trigger

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/session"
)

var me, other = session.View{ID: "1", Principal: "http"}, session.View{ID: "2", Principal: "token:eve"}

// handle returns a session of requests with a handle.
func handle(h string) session.View {
	return session.View{Stateless: true, Handle: h, Principal: "http"}
}

// served returns a registry whose requests another server passes on.
func served(t *testing.T) *Registry { return servedFrom(t.TempDir()) }

// servedFrom is served with a state folder.
func servedFrom(state string) *Registry {
	r := New(state, filelock.New(filepath.Join(state, "locks")), event.New())
	r.ServedAt("https://host:1")
	return r
}

func (r *Registry) make(t *testing.T, v session.View, name string) (secret string) {
	t.Helper()
	made, err := r.Create(t.Context(), v, name, false)
	if err != nil {
		t.Fatal(err)
	}
	return made.Secret
}

// signed returns the signature of a body.
func signed(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	io.WriteString(mac, body)
	return fmt.Sprintf("sha256=%x", mac.Sum(nil))
}

// post sends a request to Serve and returns the status with the text of the answer.
// An answer that Serve leaves to its caller is "401".
func (r *Registry) post(t *testing.T, name, body string, trusted bool, signatures ...string) string {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path+name, strings.NewReader(body))
	req.Header[Header] = signatures
	principal := ""
	if trusted {
		principal = me.Principal
	}
	w := httptest.NewRecorder()
	if refusal := r.Serve(w, req, principal); refusal != "" {
		if w.Body.Len() > 0 || refusal != Unsigned {
			t.Errorf("Serve returns %q and has answered %q", refusal, w.Body)
		}
		return "401"
	}
	text := fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String()))
	if after := w.Header().Get("Retry-After"); after != "" {
		text += " [" + after + "]"
	}
	return text
}

func texts(r *Registry, v session.View) string {
	var all []string
	list, _ := r.events.Take(v.Owner())
	for _, e := range list {
		all = append(all, fmt.Sprintf("%s %v: %s", e.Source, e.Data, e.Text))
	}
	return strings.Join(all, ", ")
}

func TestServe(t *testing.T) {
	r := served(t)
	secret, second := r.make(t, me, "ci"), r.make(t, other, "other")
	if len(secret) < 26 || secret == second {
		t.Errorf("the secrets are %q and %q", secret, second)
	}
	big := strings.Repeat("x", MaxBody)
	for _, c := range []struct {
		name, body string
		trusted    bool
		signatures []string
		want       string
	}{
		{"ci", "hi", false, []string{signed(secret, "hi")}, "202 accepted"},
		{"ci", "hi", false, []string{strings.ReplaceAll(strings.ToUpper(signed(secret, "hi")), "SHA", "sha")}, "202 accepted"},
		{"ci", "bare", true, nil, "202 accepted"},
		{"ci", "both", true, []string{signed(second, "both")}, "202 accepted"},
		{"ci", "", false, []string{signed(secret, "")}, "202 accepted"},
		{"ci", "a\xff", false, []string{signed(secret, "a\xff")}, "202 accepted"},
		{"ci", big, false, []string{signed(secret, big)}, "202 accepted"},
		// All of these are answered in the same way.
		{"ci", "hi", false, nil, "401"},
		{"ci", "hi", false, []string{""}, "401"},
		{"ci", "hi", false, []string{signed(second, "hi")}, "401"},
		{"ci", "ho", false, []string{signed(secret, "hi")}, "401"},
		{"ci", "hi", false, []string{signed(secret, "hi")[1:]}, "401"},
		{"ci", "hi", false, []string{signed(secret, "hi") + "0"}, "401"},
		{"ci", "hi", false, []string{strings.Replace(signed(secret, "hi"), "sha256", "sha512", 1)}, "401"},
		{"ci", "hi", false, []string{"sha256=" + strings.Repeat("g", 64)}, "401"},
		{"ci", "hi", false, []string{signed(secret, "hi"), signed(secret, "hi")}, "401"},
		{"none", "hi", false, []string{signed(secret, "hi")}, "401"},
		{"none", "hi", false, []string{signed("", "hi")}, "401"},
		{"", "hi", false, []string{signed("", "hi")}, "401"},
		{"ci/x", "hi", false, []string{signed(secret, "hi")}, "401"},
		// So are these.
		{"ci", big + "x", false, []string{signed(secret, big+"x")}, "413 the body has more than 65536 bytes"},
		{"none", big + "x", false, []string{signed(secret, "")}, "413 the body has more than 65536 bytes"},
		// The token shows which names its principal has.
		{"other", "hi", true, nil, "404 there is no trigger other"},
		{"none", "hi", true, nil, "404 there is no trigger none"},
		{"x\ny", "hi", true, nil, `404 there is no trigger "x\ny"`},
	} {
		if got := r.post(t, strings.ReplaceAll(c.name, "\n", "%0A"), c.body, c.trusted, c.signatures...); got != c.want {
			t.Errorf("%s %.10q, trusted %v, %q: %q, want %q", c.name, c.body, c.trusted, c.signatures, got, c.want)
		}
	}
	want := "trigger ci true: hi, trigger ci true: hi, trigger ci true: bare, trigger ci true: both, trigger ci false: a request without a body arrived, trigger ci true: a\uFFFD, trigger ci true: xx"
	if got := texts(r, me); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "x... [63566 more characters]") {
		t.Errorf("the events are %.300q", got)
	}
	if got := texts(r, other); got != "" {
		t.Errorf("the other session has %q", got)
	}
}

// TestChunked checks the limit of a body without an announced length, and other requests
// that are refused.
func TestChunked(t *testing.T) {
	r := served(t)
	secret := r.make(t, me, "ci")
	send := func(method string, body io.Reader, header ...string) string {
		req := httptest.NewRequestWithContext(t.Context(), method, Path+"ci", body)
		req.ContentLength = -1
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		r.Serve(w, req, "")
		return fmt.Sprint(w.Code, " ", strings.TrimSpace(w.Body.String()))
	}
	sign := []string{Header, signed(secret, "")}
	for _, c := range []struct {
		got, want string
	}{
		{send("POST", strings.NewReader(strings.Repeat("x", MaxBody+1)), sign...), "413 the body has more than 65536 bytes"},
		{send("POST", io.MultiReader(strings.NewReader("x"), broken{}), sign...), "400 the body did not arrive as a whole within 3 s"},
		{send("GET", nil, sign...), "405 method not allowed; send POST"},
		{send("PUT", nil), "405 method not allowed; send POST"},
		{send("POST", nil, append(sign, "Content-Encoding", "gzip")...), "415 send the body without Content-Encoding"},
		{send("POST", strings.NewReader(""), append(sign, "Content-Encoding", "identity")...), "202 accepted"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if len(r.bodies.of) > 0 || r.bodies.all != 0 {
		t.Fatalf("bodies are being read: %v", r.bodies.of)
	}
	// Bodies without a token keep out no request with one, and those of one address none of another.
	const here = "192.0.2.1" // of httptest
	for range maxOfHost {
		r.bodies.enter(here)
	}
	if got := r.post(t, "ci", "", false, sign[1]); got != "503 too many requests at once [1]" {
		t.Error(got)
	}
	if got := r.post(t, "ci", "", true, ""); got != "202 accepted" {
		t.Errorf("with the token: %s", got)
	}
	r.bodies.leave(here)
	if got := r.post(t, "ci", "", false, sign[1]); got != "202 accepted" {
		t.Error(got)
	}
	for i := range maxBodies {
		r.bodies.enter(fmt.Sprint(i))
	}
	if got := r.post(t, "ci", "", false, sign[1]); got != "503 too many requests at once [1]" {
		t.Error(got)
	}
}

// TestEndless checks that a body is not read further than needed.
func TestEndless(t *testing.T) {
	r := served(t)
	body := new(endless)
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path+"ci", body)
	w := httptest.NewRecorder()
	if r.Serve(w, req, "http"); w.Code != http.StatusRequestEntityTooLarge || body.n > 2*MaxBody {
		t.Errorf("status %d after %d bytes", w.Code, body.n)
	}
}

// endless is a body of 1 MiB whose length is not announced.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	if e.n >= 1<<20 {
		return 0, io.EOF
	}
	e.n += len(p)
	return len(p), nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := served(t)
		r.make(t, me, "ci")
		secret := r.make(t, me, "b")
		for i := range maxRate {
			if got := r.post(t, "ci", "x", true); got != "202 accepted" {
				t.Fatalf("request %d: %s", i, got)
			}
			time.Sleep(500 * time.Millisecond)
		}
		if got := r.post(t, "ci", "x", true); got != "429 more than 60 requests in a minute to this trigger [30]" {
			t.Error(got)
		}
		if got := r.post(t, "ci", "x", false, signed(secret, "x")); got != "401" {
			t.Errorf("a wrong signature shows that a name is in use: %s", got)
		}
		if got := r.post(t, "b", "x", true); got != "202 accepted" {
			t.Errorf("another trigger: %s", got)
		}
		time.Sleep(29999 * time.Millisecond)
		if got := r.post(t, "ci", "x", true); got != "429 more than 60 requests in a minute to this trigger [1]" {
			t.Error(got)
		}
		time.Sleep(time.Millisecond)
		if got := r.post(t, "ci", "x", true); got != "202 accepted" {
			t.Error(got)
		}
		if got := r.post(t, "ci", "x", true); got != "429 more than 60 requests in a minute to this trigger [1]" {
			t.Error(got)
		}
		time.Sleep(3 * time.Second)
		if got := fmt.Sprint(r.List(me)); got != "[{b https://host:1/events/b false 1 33s} {ci https://host:1/events/ci false 61 3s}] <nil>" {
			t.Error(got)
		}
	})
}

// TestErrors checks the limits and the errors about names.
func TestErrors(t *testing.T) {
	r := served(t)
	fails := func(got error, want string) {
		t.Helper()
		if got == nil || got.Error() != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
	create := func(v session.View, name string) error { _, err := r.Create(t.Context(), v, name, false); return err }
	remove := func(v session.View, name string) error { _, err := r.Delete(t.Context(), v, name); return err }
	fails(remove(me, "a"), "this session has no trigger a, and no other. Make one with action create.")
	r.make(t, me, "t00")
	fails(create(me, "t00"), "there is a trigger t00 already. Choose another name, or delete it first.")
	fails(create(other, "t00"), "another session of this server has a trigger t00. Choose another name.")
	fails(remove(other, "t00"), "this session has no trigger t00, and no other. Make one with action create.")
	fails(remove(me, "a"), "this session has no trigger a. The only trigger is t00.")
	for i := range maxOwn - 1 {
		if i == 4 {
			fails(remove(me, "a"), "this session has no trigger a. Use one of t00, t01, t02, t03, t04.")
		}
		r.make(t, me, fmt.Sprintf("t%02d", i+1))
	}
	fails(create(me, "a"), "this session has 20 triggers, and no more may. Delete one that is not needed.")
	fails(remove(me, "a"), "this session has no trigger a. Use one of t00, t01, t02, t03, t04; action list shows all.")
	if err := remove(me, "t07"); err != nil {
		t.Error(err)
	}
	r.make(t, me, "a")
	for i := range maxAll - maxOwn {
		r.make(t, session.View{ID: fmt.Sprint("s", i/maxOwn)}, fmt.Sprint("n", i))
	}
	fails(create(other, "x"), "the server has 1000 triggers, and no more may. Wait until another session ends.")
	r.Forget(me.Owner())
	r.make(t, other, "t00")
	if err := r.Close(); err != nil || len(r.all)+len(r.used) > 0 {
		t.Errorf("%v, %d triggers of %d sessions are left", err, len(r.all), len(r.used))
	}
	fails(create(me, "a"), "the server is ending. Go on without a trigger.")
	for name, valid := range map[string]bool{"a": true, "A-_9": true, strings.Repeat("x", 64): true, "": false, strings.Repeat("x", 65): false, "a/b": false, "..": false, "é": false, "a\n": false} {
		if got := CheckName(name) == nil; got != valid {
			t.Errorf("%q is valid: %v", name, got)
		}
	}
	fails(CheckName("a b"), `name is "a b". Use 1 to 64 letters, digits, - and _.`)
}

// TestForget checks that the triggers of a session end with it, also those of a handle.
func TestForget(t *testing.T) {
	r := served(t)
	r.make(t, me, "a")
	r.make(t, handle("x"), "b")
	r.make(t, handle("y"), "c")
	r.Forget(handle("y").Owner())
	if got := r.post(t, "a", "", true) + r.post(t, "b", "", true) + r.post(t, "c", "", true); got != "202 accepted202 accepted404 there is no trigger c" {
		t.Error(got)
	}
	r.Forget(me.Owner())
	if got := r.post(t, "a", "", true); got != "404 there is no trigger a" {
		t.Error(got)
	}
	if len(r.used) != 1 {
		t.Errorf("%d sessions are known", len(r.used))
	}
}

// TestListener checks that a port is open while there is a trigger, and only then.
func TestListener(t *testing.T) {
	r := New("", nil, event.New())
	if got := r.Address("a"); got != "http://127.0.0.1:PORT/events/a with a free port" {
		t.Error(got)
	}
	open := func(address string) bool {
		host := strings.Split(address, "/")[2]
		c, err := net.Dial("tcp", host)
		if err == nil {
			c.Close()
		}
		return err == nil
	}
	post := func(url, body, signature string) string {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		req.Header.Set(Header, signature)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return fmt.Sprint(resp.StatusCode, " ", strings.TrimSpace(string(text)), " ", resp.Header.Get("WWW-Authenticate"))
	}
	made, err := r.Create(t.Context(), me, "a", false)
	if err != nil || !strings.HasPrefix(made.Address, "http://127.0.0.1:") {
		t.Fatal(made, err)
	}
	if got := r.Address("b"); got != strings.TrimSuffix(made.Address, "a")+"b" {
		t.Errorf("the next address is %s", got)
	}
	const refused = `401 missing or wrong signature; send X-Hub-Signature-256: sha256=HEX, the HMAC-SHA-256 of the body with the secret of the trigger HMAC-SHA256 realm="mcp-toolset"`
	for _, c := range []struct{ url, signature, want string }{
		{made.Address, signed(made.Secret, "hi"), "202 accepted "},
		{made.Address, signed("x", "hi"), refused},
		{made.Address + "b", signed(made.Secret, "hi"), refused},
		{strings.Replace(made.Address, "events", "mcp", 1), signed(made.Secret, "hi"), "404 not found; triggers are at /events/NAME "},
	} {
		if got := post(c.url, "hi", c.signature); got != c.want {
			t.Errorf("%s: %q, want %q", c.url, got, c.want)
		}
	}
	if got := texts(r, me); got != "trigger a true: hi" {
		t.Error(got)
	}
	r.make(t, other, "b")
	if closed, err := r.Delete(t.Context(), me, "a"); closed || err != nil || !open(made.Address) {
		t.Errorf("with another trigger the port is closed: %v, %v", closed, err)
	}
	if got := post(made.Address, "hi", signed(made.Secret, "hi")); got != refused {
		t.Errorf("after its end a trigger answers %s", got)
	}
	if closed, err := r.Delete(t.Context(), other, "b"); !closed || err != nil || open(made.Address) {
		t.Errorf("after the last trigger the port is closed: %v, %v", closed, err)
	}
	for _, end := range []func(){func() { r.Forget(me.Owner()) }, func() { r.Close() }} {
		made, err := r.Create(t.Context(), me, "a", false)
		if err != nil || !open(made.Address) {
			t.Fatal(made, err)
		}
		if end(); open(made.Address) {
			t.Error("after the end the port is open")
		}
	}
}

// TestEnd checks that no event follows the end of a session, while requests arrive.
func TestEnd(t *testing.T) {
	r := served(t)
	r.make(t, me, "a")
	found, _ := r.find("a", nil, nil, me.Principal)
	r.Forget(me.Owner())
	r.make(t, other, "a")
	r.deliver(found, nil)
	if got := texts(r, me) + texts(r, other); got != "" {
		t.Errorf("a request that a trigger of an ended session had got is an event: %s", got)
	}
	for range 20 {
		r := served(t)
		r.make(t, me, "a")
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { r.post(t, "a", "x", true) })
		}
		all.Go(func() {
			r.Forget(me.Owner())
			r.events.Forget(me.Owner())
		})
		all.Wait()
		if got := texts(r, me); got != "" {
			t.Fatalf("after the end came %q", got)
		}
	}
}
