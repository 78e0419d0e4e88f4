package console

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"mcp-toolset/console/feed"
)

var update = flag.Bool("update", false, "rewrite the golden file")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source is a server that a test plays.
type source struct {
	mu      sync.Mutex
	asked   []string
	watched int
	updates chan feed.Update
}

func (s *source) Watch(ctx context.Context, send func(feed.Update) error) error {
	s.mu.Lock()
	s.watched++
	updates := s.updates
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.watched--
		s.mu.Unlock()
	}()
	if err := send(feed.Update{Server: &feed.Server{Name: "/work", Tasks: []feed.Task{}, Approvals: []feed.Approval{}, Sessions: []feed.Session{}}}); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case u, ok := <-updates:
			if !ok {
				return io.EOF
			}
			if err := send(u); err != nil {
				return err
			}
		}
	}
}

func (s *source) Ask(_ context.Context, op string, params json.RawMessage) (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, op+" "+string(params))
	switch op {
	case "stop":
		return nil, &feed.Error{Status: http.StatusConflict, Fact: "call 1 has ended", Next: "Nothing is left to stop."}
	case "undo":
		return nil, errors.New("the disk is full")
	}
	return json.RawMessage(`{"text":"done"}`), nil
}

// world is a console with a server, in a browser of a test.
type world struct {
	*Console
	source *source
	web    *httptest.Server
	host   string
	cookie *http.Cookie
	token  string
}

func newWorld(t *testing.T, c Config) *world {
	t.Helper()
	w := &world{source: &source{updates: make(chan feed.Update)}}
	c.Servers = func() (map[string]feed.Source, error) { return map[string]feed.Source{"s1": w.source}, nil }
	c.Cookie, c.Hint = "1", "Press Enter."
	if c.Host == nil {
		c.Host = func(name string) bool { return name == w.host }
	}
	w.Console = New(c)
	w.web = httptest.NewServer(w.Console)
	w.host = strings.TrimPrefix(w.web.URL, "http://")
	t.Cleanup(func() {
		_ = w.Console.Close()
		w.web.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return w
}

var tokenPattern = regexp.MustCompile(`name="token" content="([A-Z0-9]+)"`)

// login opens a link.
func (w *world) login(t *testing.T) {
	t.Helper()
	r, err := http.Get(w.web.URL + w.Link())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, _ := io.ReadAll(r.Body)
	found := tokenPattern.FindSubmatch(body)
	if r.StatusCode != http.StatusOK || len(r.Cookies()) != 1 || found == nil {
		t.Fatalf("%s %v\n%s", r.Status, r.Cookies(), body)
	}
	w.cookie, w.token = r.Cookies()[0], string(found[1])
	if c := w.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/console/" || c.MaxAge != 0 || !c.Expires.IsZero() {
		t.Errorf("the cookie is %v", c)
	}
}

// do sends a request as a browser of the user does, changed by change.
func (w *world) do(t *testing.T, method, path, body string, change ...func(*http.Request)) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, w.web.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if w.cookie != nil {
		r.AddCookie(w.cookie)
	}
	if method == http.MethodPost {
		r.Header.Set("Origin", w.web.URL)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Console", w.token)
	}
	for _, f := range change {
		f(r)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, _ := io.ReadAll(a.Body)
	return a.StatusCode, a.Header, string(text)
}

func without(name string) func(*http.Request) { return func(r *http.Request) { r.Header.Del(name) } }
func with(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// TestRefused checks all refusals, which have a golden file. None reaches a server.
func TestRefused(t *testing.T) {
	w := newWorld(t, Config{})
	w.login(t)
	const decide = `{"server":"s1","number":1,"key":"k","do":"once"}`
	other := newWorld(t, Config{}) // another run
	other.login(t)
	var out strings.Builder
	for _, c := range []struct {
		name, method, path, body string
		change                   []func(*http.Request)
	}{
		{"no cookie: page", "GET", "/console/", "", []func(*http.Request){without("Cookie")}},
		{"no cookie: API", "GET", "/console/api/policy?server=s1", "", []func(*http.Request){without("Cookie")}},
		{"no cookie: stream", "GET", "/console/api/stream", "", []func(*http.Request){without("Cookie")}},
		{"no cookie: decision", "POST", "/console/api/approval", decide, []func(*http.Request){without("Cookie")}},
		{"cookie of another run", "POST", "/console/api/approval", decide, []func(*http.Request){with("Cookie", other.cookie.Name+"="+other.cookie.Value)}},
		{"no token", "POST", "/console/api/approval", decide, []func(*http.Request){without("X-Console")}},
		{"token of another login", "POST", "/console/api/approval", decide, []func(*http.Request){with("X-Console", other.token)}},
		{"cookie as the token", "POST", "/console/api/approval", decide, []func(*http.Request){with("X-Console", w.cookie.Value)}},
		{"form", "POST", "/console/api/approval", "server=s1&number=1&key=k&do=once", []func(*http.Request){with("Content-Type", "application/x-www-form-urlencoded")}},
		{"plain text", "POST", "/console/api/approval", decide, []func(*http.Request){with("Content-Type", "text/plain")}},
		{"no content type", "POST", "/console/api/approval", decide, []func(*http.Request){without("Content-Type")}},
		{"GET of a POST", "GET", "/console/api/stop?server=s1&call=1", "", nil},
		{"POST of a GET", "POST", "/console/api/policy", `{"server":"s1"}`, nil},
		{"PUT", "PUT", "/console/api/approval", decide, nil},
		{"OPTIONS", "OPTIONS", "/console/api/approval", "", []func(*http.Request){with("Origin", w.web.URL), with("Access-Control-Request-Method", "POST")}},
		{"foreign origin", "POST", "/console/api/approval", decide, []func(*http.Request){with("Origin", "https://evil.example")}},
		{"origin of another port", "POST", "/console/api/approval", decide, []func(*http.Request){with("Origin", "http://127.0.0.1:1")}},
		{"origin null", "POST", "/console/api/approval", decide, []func(*http.Request){with("Origin", "null")}},
		{"two origins", "POST", "/console/api/approval", decide, []func(*http.Request){func(r *http.Request) { r.Header.Add("Origin", "https://evil.example") }}},
		{"cross-site read", "GET", "/console/api/policy?server=s1", "", []func(*http.Request){with("Sec-Fetch-Site", "cross-site")}},
		{"another port reads", "GET", "/console/", "", []func(*http.Request){with("Sec-Fetch-Site", "same-site")}},
		{"rebinding", "GET", "/console/", "", []func(*http.Request){func(r *http.Request) { r.Host = "evil.example" }}},
		{"rebinding: login", "GET", w.Link(), "", []func(*http.Request){func(r *http.Request) { r.Host = "evil.example" }}},
		{"rebinding: API", "POST", "/console/api/approval", decide, []func(*http.Request){func(r *http.Request) { r.Host = "evil.example" }, with("Origin", "http://evil.example")}},
		{"rebinding: file", "GET", "/console/style.css", "", []func(*http.Request){func(r *http.Request) { r.Host = "evil.example" }}},
		{"wrong key", "GET", "/console/login?key=A", "", []func(*http.Request){without("Cookie")}},
		{"no key", "GET", "/console/login", "", []func(*http.Request){without("Cookie")}},
		{"form login without a token", "POST", "/console/login", "token=x", []func(*http.Request){with("Content-Type", "application/x-www-form-urlencoded")}},
		{"unknown page", "GET", "/console/x<y>", "", nil},
		{"a template", "GET", "/console/index.html", "", nil},
		{"unknown request", "GET", "/console/api/eat?server=s1", "", nil},
		{"no object", "POST", "/console/api/approval", `[1]`, nil},
		{"no server", "POST", "/console/api/approval", `{}`, nil},
		{"unknown server", "GET", "/console/api/policy?server=s2", "", nil},
		{"too long", "POST", "/console/api/explain", `"` + strings.Repeat("x", maxBody) + `"`, nil},
	} {
		status, header, body := w.do(t, c.method, c.path, c.body, c.change...)
		if strings.HasPrefix(header.Get("Content-Type"), "text/html") {
			body = strings.Join(regexp.MustCompile(`<p>.*</p>`).FindAllString(body, -1), " ") + "\n"
		}
		fmt.Fprintf(&out, "%s: %d %s", c.name, status, body)
		if header.Get("Set-Cookie") != "" || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: the headers are %v", c.name, header)
		}
	}
	if len(w.source.asked) > 0 {
		t.Errorf("the server was asked %v", w.source.asked)
	}
	golden(t, "testdata/refused.txt", out.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not up to date; run go test ./console -update (-want +got):\n%s", name, diff)
	}
}

// TestRequests checks how requests reach a server, and its answers.
func TestRequests(t *testing.T) {
	w := newWorld(t, Config{})
	w.login(t)
	var out strings.Builder
	for _, c := range [][3]string{
		{"GET", "approval?server=s1&number=7", ""},
		{"POST", "approval", `{"server":"s1","number":7,"key":"k","do":"once"}`},
		{"POST", "reply", `{"server":"s1","number":7,"key":"k","answers":[]}`},
		{"POST", "stop", `{"server":"s1","call":1}`},
		{"GET", "task?server=s1&id=12&from=-5", ""},
		{"GET", "session?server=s1&id=1", ""},
		{"GET", "change?server=s1&session=1&n=2", ""},
		{"POST", "undo", `{"server":"s1","session":"1","n":2}`},
		{"GET", "policy?server=s1", ""},
		{"POST", "explain", `{"server":"s1","tool":"Bash","input":{}}`},
		{"GET", "suggest?server=s1", ""},
		{"GET", "audit?server=s1&q=1&before=5&limit=x", ""},
	} {
		w.source.asked = nil
		status, header, body := w.do(t, c[0], "/console/api/"+c[1], c[2])
		fmt.Fprintf(&out, "%s %s -> %s -> %d %s\n", c[0], c[1], strings.Join(w.source.asked, "; "), status, strings.TrimSpace(body))
		if header.Get("Cache-Control") != "no-store" || header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v", c[1], header)
		}
	}
	golden(t, "testdata/requests.txt", out.String())
}

// TestHeaders checks the headers that protect the pages, and that no page has the token of requests.
func TestHeaders(t *testing.T) {
	w := newWorld(t, Config{})
	w.login(t)
	for _, path := range []string{"/console/", "/console/style.css", "/console/welcome.js", "/console/login", "/console/nothing", "/console/api/policy?server=s1"} {
		_, h, body := w.do(t, "GET", path, "")
		for name, want := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		if strings.Contains(body, w.token) || strings.Contains(body, w.cookie.Value) {
			t.Errorf("%s holds a secret", path)
		}
	}
	status, h, body := w.do(t, "GET", "/console/style.css", "")
	if status != 200 || body == "" {
		t.Errorf("%d", status)
	}
	if status, _, body := w.do(t, "GET", "/console/style.css", "", with("If-None-Match", h.Get("ETag"))); status != http.StatusNotModified || body != "" {
		t.Errorf("%d %q", status, body)
	}
	if status, h, _ := w.do(t, "GET", "/console", ""); status != http.StatusMovedPermanently || h.Get("Location") != "/console/" {
		t.Errorf("%d %v", status, h)
	}
}

// TestLinks checks that a link works once and for a limited time.
func TestLinks(t *testing.T) {
	w := newWorld(t, Config{})
	link := w.Link()
	if status, _, _ := w.do(t, "GET", link, ""); status != http.StatusOK {
		t.Fatalf("%d", status)
	}
	if status, h, _ := w.do(t, "GET", link, ""); status != http.StatusForbidden || h.Get("Set-Cookie") != "" {
		t.Errorf("a replayed link: %d", status)
	}
	var l logins
	now := time.Now()
	key := l.link(now)
	redeem := func(key string, now time.Time) bool {
		_, _, ok := l.redeem(key, now)
		return ok
	}
	if redeem("", now) || redeem(key, now.Add(keyFor)) || redeem(key, now) {
		t.Error("an old link works")
	}
	key = l.link(now)
	if !redeem(key, now.Add(keyFor-1)) {
		t.Error("a link does not work until its end")
	}
	first := l.link(now)
	for range maxKeys {
		l.link(now)
	}
	if redeem(first, now) {
		t.Error("links are not limited")
	}
}

// TestLinkTwice checks that the second use of a link ends the login of the first, which may be that
// of an attacker who was faster, and no other one.
func TestLinkTwice(t *testing.T) {
	w := newWorld(t, Config{})
	w.login(t)
	other := w.cookie
	link := w.Link()
	_, h, _ := w.do(t, "GET", link, "")
	w.cookie = (&http.Response{Header: h}).Cookies()[0]
	e, _ := w.stream(t)
	e.server(t)
	w.do(t, "GET", link, "")
	if status, _, _ := w.do(t, "GET", "/console/api/policy?server=s1", ""); status != http.StatusUnauthorized {
		t.Errorf("the first login still holds: %d", status)
	}
	w.source.updates <- feed.Update{Calls: []feed.Call{{Number: 1, Stage: "running"}}}
	if rest, _ := io.ReadAll(e.in); strings.Contains(string(rest), "calls") {
		t.Errorf("its stream goes on: %s", rest)
	}
	w.cookie = other
	if status, _, _ := w.do(t, "GET", "/console/api/policy?server=s1", ""); status != http.StatusOK {
		t.Errorf("another login has ended: %d", status)
	}
}

// TestForm checks the login with the bearer token of an HTTP server.
func TestForm(t *testing.T) {
	w := newWorld(t, Config{Token: func(s string) bool { return s == "right" }})
	form := with("Content-Type", "application/x-www-form-urlencoded")
	post := func(token string, change ...func(*http.Request)) (int, http.Header, string) {
		return w.do(t, "POST", "/console/login", url.Values{"token": {token}}.Encode(), append(change, form)...)
	}
	if status, _, body := w.do(t, "GET", "/console/", ""); status != http.StatusUnauthorized || !strings.Contains(body, "Enter the bearer token of the server, or press Enter.") {
		t.Errorf("%d %s", status, body)
	}
	if status, h, _ := post("right", with("Origin", "https://evil.example")); status != http.StatusForbidden || h.Get("Set-Cookie") != "" {
		t.Errorf("a foreign form: %d", status)
	}
	if status, h, body := post("wrong"); status != http.StatusForbidden || h.Get("Set-Cookie") != "" || !strings.Contains(body, "<p>The token is wrong.</p>") {
		t.Errorf("a wrong token: %d %s", status, body)
	}
	for range maxFailures {
		post("wrong")
	}
	if status, _, body := post("wrong"); status != http.StatusTooManyRequests || !strings.Contains(body, "<p>There were too many failed logins.</p>") {
		t.Errorf("%d %s", status, body)
	}
	if status, h, body := post(" right\n"); status != http.StatusOK || h.Get("Set-Cookie") == "" || !tokenPattern.MatchString(body) {
		t.Errorf("the right token: %d", status)
	}
}

// events reads events of a stream.
type events struct {
	in   *bufio.Reader
	stop func()
}

func (w *world) stream(t *testing.T) (*events, int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, "GET", w.web.URL+"/console/api/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(w.cookie)
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	stop := func() { cancel(); a.Body.Close() }
	t.Cleanup(stop)
	return &events{bufio.NewReader(a.Body), stop}, a.StatusCode
}

// next returns the next event with its data.
func (e *events) next(t *testing.T) string {
	t.Helper()
	var event string
	for {
		line, err := e.in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = strings.TrimSpace(name)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			return event + " " + strings.TrimSpace(data)
		}
	}
}

// server returns the first event that has the server: its own, or a snapshot.
func (e *events) server(t *testing.T) string {
	t.Helper()
	for {
		if got := e.next(t); strings.Contains(got, `"id":"s1","name"`) {
			return got
		}
	}
}

// TestStream checks the events of two pages, and that nothing is watched without one.
func TestStream(t *testing.T) {
	w := newWorld(t, Config{})
	w.login(t)
	a, _ := w.stream(t)
	if got := a.server(t); !strings.Contains(got, `"id":"s1"`) || !strings.Contains(got, `"calls":[]`) {
		t.Errorf("%s", got)
	}
	w.source.updates <- feed.Update{Calls: []feed.Call{{Number: 1, Stage: "running"}, {Number: 2, Stage: "done"}}}
	if got := a.next(t); !strings.HasPrefix(got, `calls {"calls":[{"number":1,`) {
		t.Errorf("%s", got)
	}
	b, _ := w.stream(t)
	if got := b.next(t); !strings.HasPrefix(got, "snapshot ") || strings.Count(got, `"stage":"running"`) != 1 || strings.Count(got, `"stage":"done"`) != 1 {
		t.Errorf("%s", got)
	}
	w.source.updates <- feed.Update{Approvals: &[]feed.Approval{{Number: 7}}}
	for _, e := range []*events{a, b} {
		if got := e.next(t); !strings.HasPrefix(got, `approvals {"approvals":[{"number":7,`) {
			t.Errorf("%s", got)
		}
	}
	w.source.mu.Lock()
	ended := w.source.updates
	w.source.updates = make(chan feed.Update)
	w.source.mu.Unlock()
	close(ended)
	for _, e := range []*events{a, b} {
		if got := e.next(t); got != `gone {"id":"s1"}` {
			t.Errorf("%s", got)
		}
	}
	a.server(t) // found again
	a.stop()
	b.stop()
	w.hub.done.Wait() // ends with the last page
	if w.source.watched != 0 {
		t.Error("it is watched without a page")
	}
}

// TestStreams checks the limit of streams.
func TestStreams(t *testing.T) {
	w := newWorld(t, Config{})
	w.login(t)
	for range maxStreams {
		if _, status := w.stream(t); status != http.StatusOK {
			t.Fatal(status)
		}
	}
	e, status := w.stream(t)
	body, _ := io.ReadAll(e.in)
	if want := `{"error":"20 pages of the console are open already","next":"Close one of them."}`; status != http.StatusTooManyRequests || strings.TrimSpace(string(body)) != want {
		t.Errorf("%d %s", status, body)
	}
}

// TestSlow checks that the events that wait for a slow reader are bounded, and that it then gets the
// whole state.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &source{updates: make(chan feed.Update)}
		h := newHub(func() (map[string]feed.Source, error) { return map[string]feed.Source{"s1": s}, nil })
		slow := h.join()
		synctest.Wait()
		h.take(slow)
		last := uint64(3000)
		for n := uint64(1); n <= last; n++ {
			s.updates <- feed.Update{Calls: []feed.Call{{Number: n, Stage: "done", Title: strings.Repeat("x", 1000)}}}
		}
		synctest.Wait()
		h.mu.Lock()
		queued, bytes := len(slow.queue), slow.bytes
		h.mu.Unlock()
		if queued > maxQueued || bytes > maxQueuedBytes {
			t.Errorf("%d events of %d bytes wait", queued, bytes)
		}
		got := h.take(slow)
		if len(got) != 1 || got[0].event != "snapshot" || strings.Count(string(got[0].data), `"stage":"done"`) != mostCalls || !strings.Contains(string(got[0].data), fmt.Sprintf(`"number":%d,`, last)) {
			t.Errorf("%d events", len(got))
		}
		if again := h.take(slow); len(again) != 0 {
			t.Errorf("%d events", len(again))
		}
		h.leave(slow)
		h.close()
	})
}

// late is a server that sends its state after a time.
type late struct {
	source
	after time.Duration
}

func (l *late) Watch(ctx context.Context, send func(feed.Update) error) error {
	select {
	case <-time.After(l.after):
		return l.source.Watch(ctx, send)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// TestFirst checks that the first snapshot has all servers that answer within findEvery, does not
// wait for others, and comes at once without servers.
func TestFirst(t *testing.T) {
	for name, c := range map[string]struct {
		after []time.Duration
		at    time.Duration
		want  int
	}{
		"none":   {nil, 0, 0},
		"all":    {[]time.Duration{100 * time.Millisecond, 300 * time.Millisecond}, 300 * time.Millisecond, 2},
		"silent": {[]time.Duration{100 * time.Millisecond, time.Hour}, findEvery, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				servers := map[string]feed.Source{}
				for i, after := range c.after {
					servers[fmt.Sprint(i)] = &late{after: after}
				}
				h := newHub(func() (map[string]feed.Source, error) { return servers, nil })
				defer h.close()
				began := time.Now()
				s := h.join()
				defer h.leave(s)
				for {
					select {
					case <-s.ready:
					case <-time.After(2 * findEvery):
						t.Fatal("no snapshot")
					}
					if got := h.take(s); len(got) > 0 {
						if n := strings.Count(string(got[0].data), `"name":"/work"`); got[0].event != "snapshot" || n != c.want || time.Since(began) != c.at {
							t.Errorf("%s with %d servers after %v", got[0].event, n, time.Since(began))
						}
						return
					}
				}
			})
		})
	}
}

// silent is a server that refuses to be watched.
type silent struct{ source }

func (s *silent) Watch(context.Context, func(feed.Update) error) error {
	return &feed.Error{Status: http.StatusBadGateway, Fact: "it is too old", Next: "Restart it."}
}

// TestProblem checks that a server that cannot be watched is shown once with the reason, and goes
// when it ends.
func TestProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		present := map[string]feed.Source{"s1": &silent{}}
		var mu sync.Mutex
		var failed error
		h := newHub(func() (map[string]feed.Source, error) {
			mu.Lock()
			defer mu.Unlock()
			return present, failed
		})
		s := h.join()
		time.Sleep(3 * findEvery)
		synctest.Wait()
		got := h.take(s)
		if len(got) != 1 || !strings.Contains(string(got[0].data), `"problem":"it is too old. Restart it."`) || !strings.Contains(string(got[0].data), `"tasks":[]`) {
			t.Errorf("%d %s", len(got), got[0].data)
		}
		time.Sleep(3 * findEvery)
		synctest.Wait()
		if got := h.take(s); len(got) != 0 {
			t.Errorf("%s", got[0].data)
		}
		mu.Lock()
		present = map[string]feed.Source{}
		mu.Unlock()
		time.Sleep(3 * findEvery)
		synctest.Wait()
		if got := h.take(s); len(got) != 1 || got[0].event != "gone" {
			t.Errorf("%d events", len(got))
		}
		// Nor can servers be found at all for a while.
		mu.Lock()
		failed = errors.New("the folder is not private")
		mu.Unlock()
		time.Sleep(3 * findEvery)
		synctest.Wait()
		if got := h.take(s); len(got) != 1 || !strings.Contains(string(got[0].data), `"problem":"the folder is not private"`) {
			t.Errorf("%d events", len(got))
		}
		mu.Lock()
		failed = nil
		mu.Unlock()
		time.Sleep(3 * findEvery)
		synctest.Wait()
		if got := h.take(s); len(got) != 1 || got[0].event != "gone" {
			t.Errorf("%d events", len(got))
		}
		h.leave(s)
		h.close()
	})
}
