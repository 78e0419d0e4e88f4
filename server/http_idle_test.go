package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-toolset/internal/identity"
)

// TestIdle checks when a server was not used for the time: after the end of requests and other work,
// whatever probes, monitoring and strangers ask for.
func TestIdle(t *testing.T) {
	const after = 10 * time.Minute
	for why, tc := range map[string]struct {
		path   string
		token  string
		takes  time.Duration // of the request
		busy   time.Duration // of other work, from the begin on
		counts time.Duration // what the end is later
	}{
		"nothing":         {},
		"a call":          {path: "/mcp", token: goodToken, takes: time.Hour, counts: time.Hour},
		"a short call":    {path: "/mcp", token: goodToken, takes: time.Second, counts: time.Second},
		"a webhook":       {path: triggersPath + "x", takes: time.Minute, counts: time.Minute},
		"a task":          {busy: 3 * time.Hour, counts: 3 * time.Hour},
		"a call, a task":  {path: "/mcp", token: goodToken, takes: time.Hour, busy: 2 * time.Hour, counts: 2 * time.Hour},
		"health":          {path: "/healthz"},
		"readiness":       {path: "/readyz"},
		"figures":         {path: metricsPath, token: goodToken, takes: time.Hour},
		"a bad token":     {path: "/mcp", token: "bad", takes: time.Hour},
		"a call at once":  {path: "/mcp", token: goodToken},
		"another profile": {path: "/mcp/x", token: goodToken, takes: time.Hour, counts: time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			idle := &Idle{After: after, Busy: func() bool { return time.Since(start) < tc.busy }}
			serves := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(tc.takes) })
			g := newGuard(HTTP{Users: identity.NewOne(goodToken), Idle: idle, Triggers: slowTriggers{serves}}, pipeAddr{}, time.Minute, serves)
			if tc.path != "" {
				r := httptest.NewRequest(http.MethodGet, "http://localhost"+tc.path, nil)
				r.Header.Set("Authorization", "Bearer "+tc.token)
				go g.ServeHTTP(httptest.NewRecorder(), r)
			}
			synctest.Wait()
			if !idle.Await(t.Context()) {
				t.Fatalf("%s: %v", why, t.Context().Err())
			}
			if took := time.Since(start); took < after+tc.counts || took > after+tc.counts+after/5 {
				t.Errorf("%s: it took %v, want %v or a little more", why, took, after+tc.counts)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if idle.Await(ctx) {
				t.Errorf("%s: the time has passed, but the server ends", why)
			}
			time.Sleep(time.Hour) // the handler ends
		})
	}
}

type slowTriggers struct{ http.Handler }

func (s slowTriggers) Serve(w http.ResponseWriter, r *http.Request, _ string) string {
	s.ServeHTTP(w, r)
	return ""
}

// TestDrains checks that a server that ends says so to balancers and new requests while it waits for a
// call.
func TestDrains(t *testing.T) {
	g := newGate()
	s, _ := newServer(t, deadline, g.tool("Block", false))
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	one, site := w.session(), strings.TrimSuffix(w.url, "/mcp")
	runs := w.post(callLine(1, "Block", `{"name":"x"}`), one)
	await(t, g.begun)
	stopped := make(chan error)
	go func() { stopped <- w.stop() }()
	end := time.Now().Add(deadline)
	for status := 0; status != http.StatusServiceUnavailable; {
		if status, _, _ = w.do("GET", site+"/readyz", ""); time.Now().After(end) {
			t.Fatalf("/readyz has status %d", status)
		}
	}
	if status, _, _ := w.do("GET", site+"/healthz", ""); status != http.StatusOK {
		t.Errorf("/healthz has status %d", status)
	}
	if status, header, text := w.do("POST", w.url, initialize); status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || text != `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"`+errEnding+`"}}`+"\n" {
		t.Errorf("a new request: %d, %s", status, text)
	}
	close(g.open)
	if r := await(t, runs); r.status != http.StatusOK || !strings.Contains(r.body, `\"x\"`) {
		t.Errorf("the call: %+v", r)
	}
	if err := await(t, stopped); err != nil {
		t.Error(err)
	}
}
