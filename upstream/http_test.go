package upstream

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/tools"
)

// web is a server over HTTP made with the library.
type web struct {
	*httptest.Server
	handler   atomic.Pointer[mcpserver.StreamableHTTPServer]
	legacy    bool
	requests  atomic.Int32
	intercept func(http.ResponseWriter, *http.Request, string) bool // true: it has answered; the text is the method
}

// forget replaces the server by one that knows no session.
func (w *web) forget() {
	w.handler.Store(mcpserver.NewStreamableHTTPServer(fixture(), mcpserver.WithStateful(w.legacy)))
}

func newWeb(t testing.TB, era string) *web {
	t.Helper()
	w := &web{legacy: era == "legacy"}
	w.forget()
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.requests.Add(1)
		data, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(data))
		var m struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(data, &m)
		if w.intercept != nil && w.intercept(rw, r, m.Method) {
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
