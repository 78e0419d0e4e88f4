package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/tools"
)

// interceptor may answer a request with the given JSON-RPC method. It reports
// whether it did.
type interceptor func(http.ResponseWriter, *http.Request, string) bool

// web is an HTTP server made with the library.
type web struct {
	*httptest.Server
	handler  atomic.Pointer[mcpserver.StreamableHTTPServer]
	legacy   bool
	requests atomic.Int32
	seen     chan string // the HTTP and JSON-RPC methods of requests
	answer   atomic.Pointer[interceptor]
}

// forget replaces the server by one without sessions.
func (w *web) forget() {
	w.handler.Store(mcpserver.NewStreamableHTTPServer(fixture(), mcpserver.WithStateful(w.legacy)))
}

func newWeb(t testing.TB, era string) *web {
	t.Helper()
	w := &web{legacy: era == "legacy", seen: make(chan string, 1000)}
	w.forget()
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(data))
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(data, &m)
		w.requests.Add(1)
		for _, kind := range []string{r.Method, m.Method} {
			select {
			case w.seen <- kind:
			default:
			}
		}
		if f := w.answer.Load(); f != nil && (*f)(rw, r, m.Method) {
			return
		}
		if w.legacy && m.Method == "server/discover" {
			rw.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(rw, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":-32601,"message":"Method not found"}}`)
			return
		}
		w.handler.Load().ServeHTTP(rw, r)
	}))
	t.Cleanup(func() {
		w.CloseClientConnections()
		w.Close()
	})
	return w
}

func (w *web) intercept(f interceptor) { w.answer.Store(&f) }

// until waits for a request with a method.
func (w *web) until(t testing.TB, method string) {
	t.Helper()
	for late := time.After(failTime); ; {
		select {
		case got := <-w.seen:
			if got == method {
				return
			}
		case <-late:
			t.Fatalf("there is no %s", method)
		}
	}
}

func TestHTTP(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w := newWeb(t, era)
			m, b := begin(t, Config{Servers: []Server{{Name: "x", Prefix: "x", URL: w.URL}}})
			m.Wake(t.Context(), failTime)
			if got := b.server("x"); got.State != tools.Ready || got.Note != "" {
				t.Fatalf("it is not ready: %+v", got)
			}
			const args = `{"n":12345678901234567890,"s":"<é>"}`
			got := text2(invoke(t, m, "x", "echo", args, nil))
			if got := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(got); got != args {
				t.Errorf("arguments came as %s", got)
			}
			w.forget()
			if got := text2(invoke(t, m, "x", "echo", `{}`, nil)); got != "{}" {
				t.Error(got)
			}
		})
	}
}

// TestHTTPErrors checks that each HTTP error results in one sentence, when
// connecting and in calls.
func TestHTTPErrors(t *testing.T) {
	t.Parallel()
	elsewhere := newWeb(t, "modern")
	status := func(code int, body string) func(http.ResponseWriter, *http.Request, string) bool {
		return func(w http.ResponseWriter, _ *http.Request, _ string) bool {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	cases := []struct {
		name      string
		intercept interceptor
	}{
		{"401", status(401, `{"message":"who are you"}`)}, {"403", status(403, `no`)}, {"404", status(404, ``)},
		{"400 with an error", status(400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"bad\u001b request"}}`)},
		{"503", status(503, `{"error":"busy"}`)}, {"200 without content", status(200, ``)}, {"200 with other JSON", status(200, `{"hello":1}`)},
		{"a page", func(w http.ResponseWriter, _ *http.Request, _ string) bool {
			_, _ = io.WriteString(w, "<html>")
			return true
		}},
		{"redirects elsewhere", func(w http.ResponseWriter, r *http.Request, _ string) bool {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
			return true
		}},
		{"cut off", func(http.ResponseWriter, *http.Request, string) bool { panic(http.ErrAbortHandler) }},
		{"cut off in a stream", func(w http.ResponseWriter, _ *http.Request, _ string) bool {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, ": hello\n\n")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}},
		{"an error", func(w http.ResponseWriter, _ *http.Request, _ string) bool {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"I\nwill not"}}`)
			return true
		}},
	}
	var out []string
	for _, c := range cases {
		w := newWeb(t, "modern")
		w.intercept(c.intercept)
		m, b := begin(t, Config{Servers: []Server{{Name: "x", Prefix: "x", URL: w.URL}}})
		err := m.find("x").prepare(t.Context())
		out = append(out, c.name+", connecting: "+err.Error()+" | "+b.server("x").Note)

		w = newWeb(t, "modern")
		m, _ = begin(t, Config{Servers: []Server{{Name: "x", Prefix: "x", URL: w.URL}}})
		if err := m.find("x").prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.intercept(func(rw http.ResponseWriter, r *http.Request, method string) bool {
			return method == "tools/call" && c.intercept(rw, r, method)
		})
		_, err = invoke(t, m, "x", "echo", `{}`, nil)
		if err == nil {
			t.Errorf("%s: no error in a call", c.name)
			continue
		}
		out = append(out, c.name+", in a call: "+err.Error())
	}
	for name, url := range map[string]string{"no scheme": "example.com/mcp", "no host": "http:///x"} {
		m, _ := begin(t, Config{Servers: []Server{{Name: "x", Prefix: "x", URL: url}}})
		if err := m.find("x").prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "its url is not one of http or https") {
			t.Errorf("%s: %v", name, err)
		}
	}
	gone := newWeb(t, "modern")
	m, _ := begin(t, Config{Servers: []Server{{Name: "x", Prefix: "x", URL: gone.URL}}})
	if err := m.find("x").prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = gone.Listener.Close()
	gone.CloseClientConnections()
	_, _ = invoke(t, m, "x", "echo", `{}`, nil) // may still be sent on a connection that is closing
	_, err := invoke(t, m, "x", "echo", `{}`, nil)
	out = append(out, "gone: "+err.Error())
	golden(t, "http", out)
	if n := elsewhere.requests.Load(); n != 0 {
		t.Errorf("%d requests were made elsewhere", n)
	}
}

// TestHeaders checks that the headers are sent with every request to the
// server, and to no other server.
func TestHeaders(t *testing.T) {
	for _, era := range eras {
		w := newWeb(t, era)
		var without atomic.Int32
		w.intercept(func(_ http.ResponseWriter, r *http.Request, _ string) bool {
			if r.Header.Get("Authorization") != "Bearer t" {
				without.Add(1)
			}
			return false
		})
		m, _ := begin(t, Config{Servers: []Server{{Name: "x", Prefix: "x", URL: w.URL, Headers: map[string]string{"Authorization": "Bearer t"}}}})
		if got := text2(invoke(t, m, "x", "echo", `{}`, nil)); got != "{}" {
			t.Error(got)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if n := without.Load(); n != 0 {
			t.Errorf("%s: %d requests without the header", era, n)
		}
	}
}

// TestRedirectWithin checks that a redirect within the server is followed.
func TestRedirectWithin(t *testing.T) {
	w := newWeb(t, "modern")
	w.intercept(func(rw http.ResponseWriter, r *http.Request, _ string) bool {
		if r.URL.Path == "/old" {
			http.Redirect(rw, r, "/new", http.StatusPermanentRedirect)
			return true
		}
		return false
	})
	m, _ := begin(t, Config{Servers: []Server{{Name: "x", Prefix: "x", URL: w.URL + "/old"}}})
	if got := text2(invoke(t, m, "x", "echo", `{}`, nil)); got != "{}" {
		t.Error(got)
	}
}

// TestSessionLost checks that a call is repeated once if the server has lost
// the session and did not run it.
func TestSessionLost(t *testing.T) {
	w := newWeb(t, "legacy")
	m, b := begin(t, Config{Servers: []Server{{Name: "x", Prefix: "x", URL: w.URL}}})
	if got := text2(invoke(t, m, "x", "echo", `{}`, nil)); got != "{}" {
		t.Fatal(got)
	}
	w.intercept(func(rw http.ResponseWriter, _ *http.Request, method string) bool {
		if method == "tools/call" {
			rw.WriteHeader(http.StatusNotFound)
			return true
		}
		return false
	})
	before := w.requests.Load()
	const want = "error: the server x cannot be reached: it does not know the session any more. Do it another way; it is tried again with the next call."
	if got := text2(invoke(t, m, "x", "echo", `{}`, nil)); got != want || w.requests.Load()-before > 20 {
		t.Errorf("after %d requests: %s", w.requests.Load()-before, got)
	}
	if got := b.server("x").State; got != tools.Failed {
		t.Errorf("it is %s", got)
	}
	w.intercept(func(rw http.ResponseWriter, r *http.Request, method string) bool {
		if method == "tools/call" && r.Header.Get("Mcp-Session-Id") == "" {
			t.Error("a call without a session")
		}
		return false
	})
	if got := text2(invoke(t, m, "x", "echo", `{}`, nil)); got != "{}" {
		t.Error(got)
	}
}

// TestHTTPListChanged checks that changes of the tools arrive over HTTP in both
// eras.
func TestHTTPListChanged(t *testing.T) {
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w := newWeb(t, era)
			m, b := begin(t, Config{Servers: []Server{{Name: "x", Prefix: "x", URL: w.URL}}})
			m.Wake(t.Context(), failTime)
			opened := map[string]string{"legacy": http.MethodGet, "modern": "subscriptions/listen"}[era]
			w.until(t, opened)
			if got := text2(invoke(t, m, "x", "change", `{}`, nil)); got != "changed" {
				t.Error(got)
			}
			b.until(t, func([]tools.Server) bool {
				return slices.ContainsFunc(b.last[0].Tools, func(tool *tools.Tool) bool { return tool.Name == "mcp__x__added" })
			})
		})
	}
}

// TestCancelArrives checks that cancelling a call also cancels it at the
// server, over both transports.
func TestCancelArrives(t *testing.T) {
	for _, over := range []string{"http", "stdio"} {
		for _, era := range eras {
			t.Run(over+" "+era, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "cancelled") // removed after the server has ended, which may still write it
				s := stdioServer(t, "x", era)
				if over == "http" {
					s = Server{Name: "x", Prefix: "x", URL: newWeb(t, era).URL}
				}
				m, _ := begin(t, Config{Servers: []Server{s}})
				if err := m.find("x").prepare(t.Context()); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(100*time.Millisecond, cancel)
				_, err := m.find("x").call(ctx, testEnv(), "hang", json.RawMessage(fmt.Sprintf(`{"file":%q}`, file)))
				if !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				if over == "http" && era == "legacy" {
					return // the server only sees the end of the stream
				}
				for end := time.Now().Add(failTime); ; time.Sleep(time.Millisecond) {
					if _, err := os.Stat(file); err == nil {
						return
					}
					if time.Now().After(end) {
						t.Fatal("the server was not told")
					}
				}
			})
		}
	}
}

// TestTooLong checks that a response that is too long ends only the call.
func TestTooLong(t *testing.T) {
	t.Parallel()
	w := newWeb(t, "modern")
	m, _ := begin(t, Config{Servers: []Server{{Name: "x", Prefix: "x", URL: w.URL}}})
	if err := m.find("x").prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"application/json", "text/event-stream"} {
		w.intercept(func(rw http.ResponseWriter, _ *http.Request, method string) bool {
			if method != "tools/call" {
				return false
			}
			rw.Header().Set("Content-Type", kind)
			if kind != "application/json" {
				_, _ = io.WriteString(rw, "data: ")
			}
			for part := bytes.Repeat([]byte("x"), 1<<20); ; {
				if _, err := rw.Write(part); err != nil {
					return true
				}
			}
		})
		if kind == "application/json" {
			inner := *w.answer.Load()
			w.intercept(func(rw http.ResponseWriter, r *http.Request, method string) bool {
				if method != "tools/call" {
					return false
				}
				rw.Header().Set("Content-Type", kind)
				_, _ = io.WriteString(rw, `{"a":"`)
				return inner(rw, r, method)
			})
		}
		const want = "error: the server x answered with more than 64 MiB. Ask for less at once."
		if got := text2(invoke(t, m, "x", "echo", `{}`, nil)); got != want {
			t.Errorf("%s: %s", kind, got)
		}
	}
}
