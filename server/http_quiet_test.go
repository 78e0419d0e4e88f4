package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/tools"
)

// TestQuietAnswers checks that answers in progress send comments, in both eras and beside
// notifications, but not where the answer cannot be an event stream.
func TestQuietAnswers(t *testing.T) {
	const (
		modernMeta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		both, json = "application/json, text/event-stream", "application/json"
		comment    = ": in progress\n\n"
	)
	for _, tc := range []struct {
		why      string
		modern   bool
		accept   string
		takes    time.Duration
		progress bool
		comments int
		stream   bool
	}{
		{why: "session", accept: both, takes: 45 * time.Second, comments: 2, stream: true},
		{why: "2026-07-28", modern: true, accept: both, takes: 45 * time.Second, comments: 2, stream: true},
		{why: "with progress", accept: both, takes: 45 * time.Second, progress: true, comments: 2, stream: true},
		{why: "short", accept: both, takes: quiet - 1},
		{why: "JSON only", accept: json, takes: 45 * time.Second},
	} {
		t.Run(tc.why, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := tools.MustBuild(tools.Def[gateIn, gateIn, gateOut]{Name: "Slow", Prompt: "Waits.", IsReadOnly: tools.Always[gateIn](),
					Call: func(_ context.Context, env *tools.Env, _ gateIn) (tools.Result[gateOut], error) {
						if env.Progress != nil {
							env.Progress(tools.Progress{Done: 1})
						}
						time.Sleep(tc.takes)
						return tools.Result[gateOut]{}, nil
					}})
				s, _ := newServer(t, deadline, slow)
				streams, stop := context.WithCancel(t.Context())
				h, _, closeSessions := s.httpHandler(streams, HTTP{NoAuth: true}, pipeAddr{})
				post := func(body string, header ...string) *httptest.ResponseRecorder {
					r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
					r.Header.Set("Content-Type", json)
					r.Header.Set("Accept", tc.accept)
					for i := 0; i < len(header); i += 2 {
						r.Header.Set(header[i], header[i+1])
					}
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					return w
				}
				call := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"Slow","arguments":{"name":"x"}`
				var w *httptest.ResponseRecorder
				switch {
				case tc.modern:
					w = post(call+modernMeta+`}}`, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "Slow")
				case tc.progress:
					w = post(call+`,"_meta":{"progressToken":1}}}`, "Mcp-Session-Id", post(initialize).Header().Get("Mcp-Session-Id"))
				default:
					w = post(call+`}}`, "Mcp-Session-Id", post(initialize).Header().Get("Mcp-Session-Id"))
				}
				time.Sleep(2 * quiet) // nothing is written after the answer
				text := w.Body.String()
				if got := strings.Count(text, comment); got != tc.comments {
					t.Errorf("%d comments, want %d: %s", got, tc.comments, text)
				}
				if got := w.Header().Get("Content-Type") == eventStream; got != tc.stream {
					t.Errorf("the answer is %s", w.Header().Get("Content-Type"))
				}
				answer := strings.TrimSpace(text)
				if tc.stream {
					events := strings.Split(answer, "\n\n")
					answer = strings.TrimPrefix(events[len(events)-1], "event: message\ndata: ")
				}
				if !strings.HasPrefix(answer, `{"jsonrpc":"2.0","id":7,"result":`) {
					t.Errorf("the answer is not the last event: %s", text)
				}
				closeSessions()
				stop()
			})
		})
	}
}

type pipeAddr struct{}

func (pipeAddr) Network() string { return "tcp" }
func (pipeAddr) String() string  { return "127.0.0.1:1" }
