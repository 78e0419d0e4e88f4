package server

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/internal/host"
	"mcp-toolset/internal/identity"
	"mcp-toolset/tools"
)

const goodToken = "a-token-for-tests-only"

// web is an HTTP server under test.
type web struct {
	t      *testing.T
	url    string
	addr   string
	client *http.Client
	stop   func() error // stops the server and waits
}

func serveHTTP(t *testing.T, s *Server, h HTTP) *web {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.ServeHTTP(ctx, l, h) }()
	w := &web{t: t, addr: l.Addr().String(), url: "http://" + l.Addr().String() + "/mcp"}
	w.client = &http.Client{Transport: &http.Transport{}, Timeout: deadline}
	w.stop = sync.OnceValue(func() error {
		cancel()
		w.client.CloseIdleConnections()
		select {
		case err := <-served:
			return err
		case <-time.After(deadline):
			return errors.New("the server does not stop")
		}
	})
	t.Cleanup(func() {
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// do sends a request with a valid token and content type, changed by headers ("Name:
// value"; "-Name" removes one). It returns status, headers and body.
func (w *web) do(method, url, body string, headers ...string) (status int, header http.Header, text string) {
	w.t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+goodToken)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, h := range headers {
		name, value, set := strings.Cut(h, ": ")
		switch {
		case !set:
			r.Header.Del(strings.TrimPrefix(name, "-"))
		case name == "Host":
			r.Host = value
		case name == "+Authorization":
			r.Header.Add("Authorization", value)
		default:
			r.Header.Set(name, value)
		}
	}
	resp, err := w.client.Do(r)
	for range 10 { // a slow client may still be sending a body when a refusal closes the connection
		if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
			break
		}
		r.Body = io.NopCloser(strings.NewReader(body))
		resp, err = w.client.Do(r)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(data)
}

// session initializes a session and returns its header.
func (w *web) session() string {
	w.t.Helper()
	status, header, body := w.do("POST", w.url, initialize)
	if status != http.StatusOK || header.Get("Mcp-Session-Id") == "" {
		w.t.Fatalf("initialize: %d %s", status, body)
	}
	return "Mcp-Session-Id: " + header.Get("Mcp-Session-Id")
}

// modern holds the headers of a request of a protocol version without sessions.
func modern(method, name string) []string {
	h := []string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}
	if name != "" {
		h = append(h, "Mcp-Name: "+name)
	}
	return h
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// TestGuard checks the conditions that an HTTP request must meet. Each row
// except the last is refused, with a text for users who debug a client.
func TestGuard(t *testing.T) {
	s, _ := newServer(t, time.Second)
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken), AllowOrigins: []string{"https://app.example"}, AllowHosts: []string{"mcp.example"}})
	base := strings.TrimSuffix(w.url, "/mcp")
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	session := w.session()
	for _, tc := range []struct {
		why, method, path, body string
		headers                 []string
		status                  int
		text                    string
	}{
		{"no token", "POST", "/mcp", ping, []string{"-Authorization"}, 401, "missing or wrong bearer token"},
		{"a wrong token", "POST", "/mcp", ping, []string{"Authorization: Bearer wrong"}, 401, ""},
		{"another scheme", "POST", "/mcp", ping, []string{"Authorization: Basic " + goodToken}, 401, ""},
		{"a token with a space before", "POST", "/mcp", ping, []string{"Authorization: Bearer  " + goodToken}, 401, ""},
		{"two tokens", "POST", "/mcp", ping, []string{"+Authorization: Bearer " + goodToken}, 400, "more than one"},
		{"the token in the query", "POST", "/mcp?access_token=" + goodToken, ping, []string{"-Authorization"}, 400, "in the address"},
		{"a huge token", "POST", "/mcp", ping, []string{"Authorization: Bearer " + strings.Repeat("x", 8000)}, 401, ""},
		{"no route without a token", "GET", "/anything", "", []string{"-Authorization"}, 401, ""},
		{"no method without a token", "DELETE", "/mcp", "", []string{"-Authorization"}, 401, ""},
		{"a foreign origin", "POST", "/mcp", ping, []string{"Origin: https://evil.com"}, 403, "--allow-origin"},
		{"the null origin", "POST", "/mcp", ping, []string{"Origin: null"}, 403, ""},
		{"an origin that ends well", "POST", "/mcp", ping, []string{"Origin: http://localhost.evil.com"}, 403, ""},
		{"another local port", "POST", "/mcp", ping, []string{"Origin: http://127.0.0.1:1"}, 403, ""},
		{"an empty origin", "POST", "/mcp", ping, []string{"Origin: "}, 403, ""},
		{"a cross-site fetch without origin", "POST", "/mcp", ping, []string{"Sec-Fetch-Site: cross-site"}, 403, ""},
		{"a host behind a port", "POST", "/mcp", ping, []string{"Host: 127.0.0.1:80,evil.com"}, 403, "--allow-host"},
		{"a host behind the port of an allowed one", "POST", "/mcp", ping, []string{"Host: mcp.example:80, evil.com"}, 403, "--allow-host"},
		{"a port that is too large", "POST", "/mcp", ping, []string{"Host: localhost:99999"}, 403, "--allow-host"},
		{"DNS rebinding", "POST", "/mcp", ping, []string{"Host: evil.com", "Origin: http://evil.com"}, 403, "--allow-host"},
		{"a host that starts well", "POST", "/mcp", ping, []string{"Host: 127.0.0.1.evil.com"}, 403, ""},
		{"another address", "POST", "/mcp", ping, []string{"Host: 10.0.0.1"}, 403, ""},
		{"a preflight from anywhere", "OPTIONS", "/mcp", "", []string{"-Authorization"}, 403, ""},
		{"another method", "PUT", "/mcp", "", nil, 405, ""},
		{"another path", "POST", "/mcp/", ping, nil, 404, "the MCP endpoint is /mcp"},
		{"another content type", "POST", "/mcp", ping, []string{"Content-Type: text/plain"}, 415, "application/json"},
		{"a compressed body", "POST", "/mcp", ping, []string{"Content-Encoding: gzip"}, 415, ""},
		{"a body too long", "POST", "/mcp", strings.Repeat(" ", maxBody+1), nil, 413, "16 MiB"},
		{"no JSON", "POST", "/mcp", "{", nil, 400, "-32700"},
		{"a batch", "POST", "/mcp", "[" + ping + "]", nil, 400, "-32600"},
		{"doubled keys", "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping","Method":"x"}`, nil, 400, "-32600"},
		{"an unknown session", "POST", "/mcp", ping, []string{"Mcp-Session-Id: mcp-session-1"}, 404, ""},
		{"no session", "POST", "/mcp", ping, nil, 400, "initialize first"},
		{"a listening stream without a session", "GET", "/mcp", "", nil, 400, "initialize first"},
		{"its own address by another scheme", "POST", "/mcp", ping, []string{"Origin: foo://127.0.0.1"}, 403, ""},
		{"a key that folds to a known one", "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping","paramſ":{}}`, nil, 400, "-32600"},
		{"a listening stream of an unknown session", "GET", "/mcp", "", []string{"Mcp-Session-Id: x"}, 404, ""},
		{"an unknown session ended", "DELETE", "/mcp", "", []string{"Mcp-Session-Id: x"}, 404, ""},
		{"a modern cancel", "POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, modern("notifications/cancelled", ""), 400, "close its connection"},
		{"a modern header that differs from the body", "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`, modern("tools/call", ""), 400, "-32020"},
		{"a modern GET", "GET", "/mcp", "", modern("x", ""), 405, ""},
		{"the health of the server", "GET", "/healthz", "", []string{"-Authorization"}, 200, "ok"},
		{"the health from elsewhere", "GET", "/healthz", "", []string{"Host: evil.com"}, 403, ""},
		{"a good token, small letters", "POST", "/mcp", ping, []string{session, "Authorization: bearer " + goodToken}, 200, "result"},
		{"an allowed origin", "POST", "/mcp", ping, []string{session, "Origin: https://app.example", "Sec-Fetch-Site: cross-site"}, 200, "result"},
		{"its own origin", "POST", "/mcp", ping, []string{session, "Origin: " + base}, 200, "result"},
		{"an allowed preflight", "OPTIONS", "/mcp", "", []string{"-Authorization", "Origin: https://app.example"}, 204, ""},
		{"an allowed host", "POST", "/mcp", ping, []string{session, "Host: MCP.example:443"}, 200, "result"},
		{"localhost", "POST", "/mcp", ping, []string{session, "Host: LOCALHOST.:9"}, 200, "result"},
		{"IPv6 loopback", "POST", "/mcp", ping, []string{session, "Host: [::1]:9"}, 200, "result"},
	} {
		status, _, text := w.do(tc.method, base+tc.path, tc.body, tc.headers...)
		if status != tc.status || !strings.Contains(text, tc.text) {
			t.Errorf("%s: %d %.200q, want %d %s", tc.why, status, text, tc.status, tc.text)
		}
	}
}

// TestNoBodyBeforeTheToken checks that the server does not wait for the body of
// a client without the token. It answers at once and closes the connection.
func TestNoBodyBeforeTheToken(t *testing.T) {
	s, _ := newServer(t, time.Second)
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	for _, body := range []string{"Content-Length: 1", "Content-Length: 200000", "Content-Length: 1000000", "Transfer-Encoding: chunked"} {
		for head, want := range map[string]string{
			"POST /mcp HTTP/1.1\r\nHost: localhost":    "401",
			"POST /mcp HTTP/1.1\r\nHost: evil.com":     "403",
			"GET /healthz HTTP/1.1\r\nHost: localhost": "200",
		} {
			conn, err := net.Dial("tcp", w.addr)
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(deadline / 2)) // well below the body's own timeout
			fmt.Fprintf(conn, "%s\r\nContent-Type: application/json\r\n%s\r\n\r\n", head, body)
			answer, err := io.ReadAll(conn)
			if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 "+want) {
				t.Errorf("%.20s, %s: %.60q, %v", head, body, answer, err)
			}
			_ = conn.Close()
		}
	}
}

// TestFailedAttempts checks that the first 20 failed attempts get 401 and later
// ones are told to wait. The right token is accepted at any time.
func TestFailedAttempts(t *testing.T) {
	s, _ := newServer(t, time.Second)
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	for i := range failBurst + 5 {
		want := http.StatusUnauthorized
		if i >= failBurst {
			want = http.StatusTooManyRequests
		}
		if status, h, _ := w.do("POST", w.url, "{}", "Authorization: Bearer no"); status != want || h.Get("Www-Authenticate")+h.Get("Retry-After") == "" {
			t.Errorf("attempt %d: %d %v", i+1, status, h)
		}
	}
	w.session()
}

func TestNoAuth(t *testing.T) {
	s, _ := newServer(t, time.Second)
	w := serveHTTP(t, s, HTTP{NoAuth: true})
	if status, _, body := w.do("POST", w.url, initialize, "-Authorization"); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
}

// TestSlowClients checks that clients that send or receive too slowly are
// disconnected.
func TestSlowClients(t *testing.T) {
	g := newGate()
	s, _ := newServer(t, time.Second, g.tool("Wait", true))
	s.timeouts = timeouts{header: 50 * time.Millisecond, body: 50 * time.Millisecond, write: time.Second, idle: time.Second}
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	for name, send := range map[string]string{
		"a header that does not end": "POST /mcp HTTP/1.1\r\nHost: localhost\r\n",
		"a body that does not end": "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + goodToken +
			"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
		"a header of 100 KB": "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 100<<10) + "\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", w.addr)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(deadline))
		_, _ = io.WriteString(conn, send)
		answer, err := io.ReadAll(conn)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			t.Errorf("%s: the connection stays open", name)
		}
		if strings.Contains(string(answer), "200 OK") {
			t.Errorf("%s: %s", name, answer)
		}
		_ = conn.Close()
	}
	// Others are served, even calls that take longer than the timeout of a body.
	session := w.session()
	body := make(chan string, 1)
	go func() {
		_, _, text := w.do("POST", w.url, callLine(1, "Wait", `{"name":"done"}`), session)
		body <- text
	}()
	await(t, g.begun)
	<-time.After(4 * s.timeouts.body) // it must pass
	close(g.open)
	if text := await(t, body); !strings.Contains(text, `done`) || strings.Contains(text, "cancelled") {
		t.Errorf("a long call: %s", text)
	}
}

// TestSessions checks that a session lasts until it is ended and stores its
// client's state. A request of the new protocol has no session.
func TestSessions(t *testing.T) {
	g := newGate()
	close(g.open)
	s, _ := newServer(t, time.Second, g.tool("Block", false))
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	one, two := w.session(), w.session()
	if one == two {
		t.Error("two clients got one session")
	}
	read := callLine(1, "Read", `{"file_path":"a.txt"}`)
	for range 2 {
		if status, _, body := w.do("POST", w.url, read, one); status != 200 || !strings.Contains(body, "two") {
			t.Errorf("in a session: %d %s", status, body)
		}
	}
	if status, _, _ := w.do("DELETE", w.url, "", one); status != 200 {
		t.Errorf("ending a session: %d", status)
	}
	if status, _, _ := w.do("POST", w.url, read, one); status != 404 {
		t.Errorf("an ended session: %d", status)
	}
	if status, _, _ := w.do("POST", w.url, read, two); status != 200 {
		t.Errorf("the other session: %d", status)
	}
	modernRead := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Read","arguments":{"file_path":"a.txt"},` + modernMeta + `}}`
	status, header, body := w.do("POST", w.url, modernRead, modern("tools/call", "Read")...)
	if status != 200 || !strings.Contains(body, "two") || header.Get("Mcp-Session-Id") != "" {
		t.Errorf("a modern call: %d %v %s", status, header, body)
	}
	unknown := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Reed","arguments":{},` + modernMeta + `}}`
	if status, _, body := w.do("POST", w.url, unknown, modern("tools/call", "Reed")...); status != 400 || !strings.Contains(body, "the nearest is Read") {
		t.Errorf("a modern call of an unknown tool: %d %s", status, body)
	}
	if status, _, body := w.do("POST", w.url, callLine(1, "OldBlock", `{"name":"x"}`), two); status != 200 || !strings.Contains(body, `{\"name\":\"x\"}`) {
		t.Errorf("a former name: %d %s", status, body)
	}
}

// TestSessionsAreBounded checks that unused sessions make room for new ones,
// also in the library. A session whose initialization failed does not exist.
func TestSessionsAreBounded(t *testing.T) {
	s, _ := newServer(t, time.Second)
	var ended atomic.Int64
	s.mcp.GetHooks().AddOnUnregisterSession(func(context.Context, mcpserver.ClientSession) { ended.Add(1) })
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	first, kept := w.session(), w.session()
	const over = 5
	for i := range maxSessions + over - 2 {
		if i == maxSessions-5 {
			w.do("POST", w.url, ping, kept)
		}
		w.session()
	}
	if status, _, _ := w.do("POST", w.url, ping, first); status != http.StatusNotFound {
		t.Errorf("the session unused for longest: %d", status)
	}
	if status, _, _ := w.do("POST", w.url, ping, kept); status != http.StatusOK {
		t.Errorf("a session in use: %d", status)
	}
	if n := ended.Load(); n != over {
		t.Errorf("%d sessions ended in the library, want %d", n, over)
	}
	bad := strings.Replace(initialize, `"capabilities":{}`, `"capabilities":"none"`, 1)
	_, header, body := w.do("POST", w.url, bad)
	id := header.Get("Mcp-Session-Id")
	if status, _, _ := w.do("POST", w.url, ping, "Mcp-Session-Id: "+id); id == "" || !strings.Contains(body, "error") || status != http.StatusNotFound {
		t.Errorf("a session that failed to initialize: %q, %s, then %d", id, body, status)
	}
}

// TestStatelessRemembersNothing checks that the effects of a request without a
// session end with it, and that it reads only results of such requests.
func TestStatelessRemembersNothing(t *testing.T) {
	g := newGate()
	close(g.open)
	long := tools.MustBuild(tools.Def[gateIn, gateIn, gateOut]{Name: "Long", Prompt: "Says a lot.", MaxResultSize: 1000,
		Call: func(_ context.Context, _ *tools.Env, in gateIn) (tools.Result[gateOut], error) {
			return tools.Result[gateOut]{Data: gateOut{strings.Repeat(in.Name+"\n", 2000)}}, nil
		},
		Render: func(o gateOut) []tools.Content { return []tools.Content{tools.Text{Text: o.Name}} }})
	look := tools.MustBuild(tools.Def[gateIn, gateIn, gateOut]{Name: "Look", Prompt: "Looks.",
		Call: func(_ context.Context, env *tools.Env, in gateIn) (tools.Result[gateOut], error) {
			return tools.Result[gateOut]{Data: gateOut{fmt.Sprint("loaded: ", env.Session.Loaded(in.Name))}}, nil
		}})
	s, _ := newServer(t, time.Second, g.tool("Finish", false), look, long)
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	one, two := w.session(), w.session()
	call := func(session, tool, args string) string {
		t.Helper()
		meta, headers := "", []string{session}
		if session == "" {
			meta, headers = ","+modernMeta, modern("tools/call", tool)
		}
		_, _, body := w.do("POST", w.url, fmt.Sprintf(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, tool, args, meta), headers...)
		return body
	}
	for session, want := range map[string]string{"": "loaded: false", one: "loaded: true"} {
		call(session, "Finish", `{"name":"x"}`)
		if got := call(session, "Look", `{"name":"x"}`); !strings.Contains(got, want) {
			t.Errorf("in session %q: %s, want %s", session, got, want)
		}
	}
	if got := call(two, "Look", `{"name":"x"}`); !strings.Contains(got, "loaded: false") {
		t.Errorf("another session: %s", got)
	}
	// A handle makes a session: what a request with it changes holds for the next one.
	for _, handle := range []string{"h1", "h2"} {
		kept := func(tool string) string {
			t.Helper()
			_, _, body := w.do("POST", w.url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"name":%q},%s}}`,
				tool, handle, strings.Replace(modernMeta, "{", `{"mcp-toolset/session":"`+handle+`",`, 1)), modern("tools/call", tool)...)
			return body
		}
		if got := kept("Look"); !strings.Contains(got, "loaded: false") {
			t.Errorf("before: %s", got)
		}
		kept("Finish")
		if got := kept("Look"); !strings.Contains(got, "loaded: true") {
			t.Errorf("with the handle %s: %s", handle, got)
		}
	}
	// A stored result may be read by its own session, or for a request without one by any
	// other such request.
	for _, owner := range []string{"", one} {
		_, rest, _ := strings.Cut(call(owner, "Long", `{"name":"word"}`), "The whole result is in ")
		path, _, _ := strings.Cut(rest, ";")
		for _, reader := range []string{"", one, two} {
			got := call(reader, "Read", fmt.Sprintf(`{"file_path":%q,"limit":1}`, path))
			if may := strings.Contains(got, `1\tword`); may != (reader == owner) {
				t.Errorf("%q reads the result of %q: %s", reader, owner, got)
			}
		}
	}
}

// TestForgettingClient checks that a client which would not send the handle of a session back is
// offered a session instead, and that its results are such as it can take.
func TestForgettingClient(t *testing.T) {
	s, _ := newServer(t, time.Second)
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	for client, want := range map[string]string{
		"claude-code": `"error":{"code":-32601,"message":"this server keeps what a client does in a session: begin with initialize"}`,
		"other":       `"supportedVersions"`,
	} {
		meta := strings.Replace(modernMeta, "{", `{"io.modelcontextprotocol/clientInfo":{"name":"`+client+`","version":"1"},`, 1)
		_, _, body := w.do("POST", w.url, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+meta+`}}`, modern("server/discover", "")...)
		if !strings.Contains(body, want) || !strings.Contains(body, `"id":1`) {
			t.Errorf("%s: %s", client, body)
		}
	}
	text := []tools.Content{tools.Text{Text: "1"}}
	for client, want := range map[string]string{
		"gemini-cli-mcp-client": `{"_meta":{"k":1},"content":[{"type":"text","text":"1"}],"structuredContent":{}} {"content":[{"type":"text","text":"1"}],"isError":true,"structuredContent":{}}`,
		"qwen-cli-mcp-client-x": `{"_meta":{"k":1},"content":[{"type":"text","text":"1"}]} {"content":[{"type":"text","text":"1"}],"isError":true}`,
		"other":                 `{"_meta":{"k":1},"content":[{"type":"text","text":"1"}]} {"_meta":{"k":1},"content":[{"type":"text","text":"1"}],"isError":true}`,
	} {
		var got []string
		for _, failed := range []bool{false, true} {
			r, err := s.result(&tools.Response{Content: text, Failed: failed, Meta: map[string]any{"k": 1}}, host.Of(client))
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(data))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s", client, got)
		}
	}
}

// events splits an event stream into its messages.
func events(body string) []string {
	var out []string
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			out = append(out, strings.TrimSpace(data))
		}
	}
	return out
}

// TestHTTPNotifications checks that all progress of a call is on its own stream
// and before its answer, even with other calls and a listening stream of the
// session.
func TestHTTPNotifications(t *testing.T) {
	g := newGate()
	s, _ := newServer(t, time.Second, g.tool("Wait", true))
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	session := w.session()
	listen, err := http.NewRequest("GET", w.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	listen.Header.Set("Authorization", "Bearer "+goodToken)
	listen.Header.Set("Mcp-Session-Id", strings.TrimPrefix(session, "Mcp-Session-Id: "))
	listen.Header.Set("Accept", "text/event-stream")
	resp, err := w.client.Do(listen)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("listening: %v %v", resp, err)
	}
	defer resp.Body.Close()
	var wg sync.WaitGroup
	for i := range 20 {
		headers, meta := []string{session}, fmt.Sprintf(`"_meta":{"progressToken":%d}`, i)
		if i%2 == 1 {
			headers = modern("tools/call", "Wait")
			meta = strings.Replace(modernMeta, "{", fmt.Sprintf(`{"progressToken":%d,`, i), 1)
		}
		wg.Go(func() {
			_, header, body := w.do("POST", w.url, fmt.Sprintf(
				`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"Wait","arguments":{"name":"x","notify":30},%s}}`, i, meta), headers...)
			all := events(body)
			progress := 0
			for n, e := range all {
				a := parse(t, e)
				switch {
				case a.Method == "notifications/progress" && strings.Contains(e, fmt.Sprintf(`"progressToken":%d,`, i)):
					progress++
				case a.Method == "" && n != len(all)-1:
					t.Errorf("call %d: the answer is event %d of %d", i, n+1, len(all))
				case a.Method == "notifications/progress":
					t.Errorf("call %d got another's progress: %s", i, e)
				}
			}
			if progress != 30 || !strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") {
				t.Errorf("call %d: %d progress notifications, %v", i, progress, header)
			}
		})
	}
	wg.Wait()
}

// TestListenIsAcknowledged checks that the acknowledgement of a listen stream
// always comes before its end.
func TestListenIsAcknowledged(t *testing.T) {
	s, _ := newServer(t, time.Second)
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	for range 50 {
		_, _, body := w.do("POST", w.url, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+modernMeta+`}}`,
			modern("subscriptions/listen", "")...)
		all := events(body)
		if len(all) != 2 || parse(t, all[0]).Method != "notifications/subscriptions/acknowledged" || parse(t, all[1]).Result == nil {
			t.Fatalf("a listen stream: %q", all)
		}
	}
}

// TestHTTPCancel checks that a client cancels by a notification in its session
// or by disconnecting, and that no other client's call is affected.
func TestHTTPCancel(t *testing.T) {
	g := newGate()
	s, _ := newServer(t, time.Second, g.tool("Wait", true))
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	one, two := w.session(), w.session()
	type done struct{ who, body string }
	answers := make(chan done, 3)
	for who, session := range map[string]string{"one": one, "two": two} {
		go func() {
			_, _, body := w.do("POST", w.url, callLine(1, "Wait", `{"name":"`+who+`"}`), session)
			answers <- done{who, body}
		}()
	}
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		r, _ := http.NewRequestWithContext(ctx, "POST", w.url, strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Wait","arguments":{"name":"leaver"},`+modernMeta+`}}`))
		for _, h := range append(modern("tools/call", "Wait"), "Authorization: Bearer "+goodToken, "Content-Type: application/json") {
			name, value, _ := strings.Cut(h, ": ")
			r.Header.Set(name, value)
		}
		_, err := w.client.Do(r)
		gone <- err
	}()
	for range 3 {
		await(t, g.begun)
	}
	leave()
	if err := await(t, gone); !errors.Is(err, context.Canceled) {
		t.Errorf("the client that left: %v", err)
	}
	if status, _, body := w.do("POST", w.url, cancelLine(1), one); status != http.StatusAccepted {
		t.Errorf("cancel: %d %s", status, body)
	}
	if a := await(t, answers); a.who != "one" || a.body != "" {
		t.Errorf("after the cancel: %+v", a)
	}
	close(g.open)
	if a := await(t, answers); a.who != "two" || strings.Contains(a.body, "cancelled") {
		t.Errorf("the other session's call: %+v", a)
	}
}

// TestHTTPShutdown checks that a server told to stop ends listening streams at
// once and lets calls finish.
func TestHTTPShutdown(t *testing.T) {
	g := newGate()
	s, _ := newServer(t, deadline, g.tool("Wait", true))
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	session := w.session()
	listen, err := http.NewRequest("GET", w.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	listen.Header.Set("Authorization", "Bearer "+goodToken)
	listen.Header.Set("Mcp-Session-Id", strings.TrimPrefix(session, "Mcp-Session-Id: "))
	stream, err := w.client.Do(listen)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	answer := make(chan string, 1)
	go func() {
		_, _, body := w.do("POST", w.url, callLine(1, "Wait", `{"name":"x"}`), session)
		answer <- body
	}()
	await(t, g.begun)
	stopped := make(chan error, 1)
	go func() { stopped <- w.stop() }()
	if _, err := io.ReadAll(stream.Body); err != nil {
		t.Errorf("the listening stream ended with %v", err)
	}
	close(g.open)
	if body := await(t, answer); !strings.Contains(body, `x`) || strings.Contains(body, "cancelled") {
		t.Errorf("the call in flight: %s", body)
	}
	if err := await(t, stopped); err != nil {
		t.Error(err)
	}
}

// TestHTTPShutdownCutsOff checks that a call longer than the drain time is
// cancelled.
func TestHTTPShutdownCutsOff(t *testing.T) {
	g := newGate()
	s, _ := newServer(t, 50*time.Millisecond, g.tool("Wait", true))
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	session := w.session()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r, _ := http.NewRequest("POST", w.url, strings.NewReader(callLine(1, "Wait", `{"name":"x"}`)))
		r.Header.Set("Authorization", "Bearer "+goodToken)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Mcp-Session-Id", strings.TrimPrefix(session, "Mcp-Session-Id: "))
		if resp, err := w.client.Do(r); err == nil {
			_ = resp.Body.Close()
		}
	}()
	await(t, g.begun)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	await(t, ended)
}

// certificate makes a certificate for loopback and a client's pool that trusts it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// TestTLS checks that calls work over HTTP/2, and that a call that has sent
// progress may then be silent for longer than the write timeout.
func TestTLS(t *testing.T) {
	g := newGate()
	slow := tools.MustBuild(tools.Def[gateIn, gateIn, gateOut]{Name: "Slow", Prompt: "Is slow.",
		Call: func(_ context.Context, env *tools.Env, in gateIn) (tools.Result[gateOut], error) {
			env.Progress(tools.Progress{Done: 1})
			g.begun <- in.Name
			<-g.open
			return tools.Result[gateOut]{Data: gateOut{in.Name}}, nil
		}})
	s, _ := newServer(t, time.Second, slow)
	s.timeouts.write = 50 * time.Millisecond
	cert, pool := certificate(t)
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken), TLS: &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}}})
	w.url = strings.Replace(w.url, "http:", "https:", 1)
	w.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	body := make(chan string, 1)
	go func() {
		_, _, text := w.do("POST", w.url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Slow","arguments":{"name":"done"},`+
			strings.Replace(modernMeta, "{", `{"progressToken":1,`, 1)+`}}`, modern("tools/call", "Slow")...)
		body <- text
	}()
	await(t, g.begun)
	<-time.After(4 * s.timeouts.write) // the timeout of the progress message must pass
	close(g.open)
	if all := events(await(t, body)); len(all) != 2 || !strings.Contains(all[1], `done`) {
		t.Errorf("events: %q", all)
	}
	// A refusal there is answered too, and the next request is served.
	if status, _, text := w.do("POST", w.url, initialize, "-Authorization"); status != 401 || text == "" {
		t.Errorf("no token: %d %s", status, text)
	}
	if status, header, _ := w.do("POST", w.url, initialize); status != 200 || header.Get("Mcp-Session-Id") == "" {
		t.Errorf("initialize: %d %v", status, header)
	}
	w.client.CloseIdleConnections()
}

// TestLateNotifications checks that a goroutine left behind by a tool does no
// harm.
func TestLateNotifications(t *testing.T) {
	late := make(chan func(), 1)
	leaver := tools.MustBuild(tools.Def[gateIn, gateIn, gateOut]{Name: "Leaver", Prompt: "Leaves something behind.",
		Call: func(_ context.Context, env *tools.Env, in gateIn) (tools.Result[gateOut], error) {
			late <- func() {
				env.Progress(tools.Progress{Done: 1})
				env.Log.Error("late")
			}
			return tools.Result[gateOut]{Data: gateOut{in.Name}}, nil
		}})
	s, _ := newServer(t, time.Second, leaver)
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	_, _, body := w.do("POST", w.url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Leaver","arguments":{"name":"x"},`+
		strings.Replace(modernMeta, "{", `{"progressToken":1,"io.modelcontextprotocol/logLevel":"debug",`, 1)+`}}`, modern("tools/call", "Leaver")...)
	(<-late)()
	if !strings.Contains(body, `x`) {
		t.Errorf("the answer: %s", body)
	}
	p := connect(t, t.Context(), s)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Leaver","arguments":{"name":"x"},"_meta":{"progressToken":1}}}`)
	p.next()
	(<-late)()
	if rest, err := p.end(); len(rest) > 0 || err != nil {
		t.Errorf("behind the answer: %q, %v", rest, err)
	}
}

// TestShutdownEndsModernListening checks that an open listen stream, as with
// lists that can change, does not delay the server's end.
func TestShutdownEndsModernListening(t *testing.T) {
	s, _ := newServer(t, deadline)
	s.mcp.AddPrompt(mcp.NewPrompt("p"), nil) // lists of prompts can change
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	r, err := http.NewRequest("POST", w.url, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"promptsListChanged":true},`+modernMeta+`}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range append(modern("subscriptions/listen", ""), "Authorization: Bearer "+goodToken, "Content-Type: application/json") {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	resp, err := w.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "event:") {
		t.Fatalf("the stream began with %q, %v", line, err)
	}
	began := time.Now()
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > deadline/2 {
		t.Errorf("the end took %v", took)
	}
}
