package server

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/identity"
)

// someFront answers with what it was asked.
type someFront struct{}

func (someFront) Serve(w http.ResponseWriter, r *http.Request, read func() ([]byte, bool)) {
	if body, ok := read(); ok {
		_, _ = io.WriteString(w, identity.From(r.Context()).ID+" "+r.URL.Path+" "+string(body))
	}
}

func (someFront) Trigger(w http.ResponseWriter, r *http.Request, principal string, read func() ([]byte, bool)) string {
	if r.Header.Get("X-Signed") == "" {
		return "sign it"
	}
	if body, ok := read(); ok {
		_, _ = io.WriteString(w, "event "+principal+" "+r.URL.Path+" "+string(body[:min(len(body), 5)]))
	}
	return ""
}

// TestServeFront checks what reaches a front.
func TestServeFront(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	figures := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "figures") })
	go func() {
		served <- ServeFront(ctx, l, HTTP{Users: tokens(t), Operator: identity.NewOne(strings.TrimPrefix(operatorToken, "Authorization: Bearer ")), Metrics: figures}, someFront{}, time.Second, slog.New(slog.DiscardHandler))
	}()
	w := &web{t: t, client: &http.Client{Transport: &http.Transport{}, Timeout: deadline}}
	url := "http://" + l.Addr().String()
	for _, c := range []struct {
		method, path, body, token string
		status                    int
		text                      string
	}{
		{"POST", "/mcp", "{}", annaToken, 200, "token:anna /mcp {}"},
		{"POST", "/mcp/plan", "{}", bobToken, 200, "token:bob /mcp/plan {}"},
		{"GET", "/mcp", "", bobToken, 200, "token:bob /mcp "},
		{"POST", "/mcp", "{}", operatorToken, 401, "bearer token"},
		{"POST", "/mcp", strings.Repeat(" ", maxBody+1), annaToken, 413, "over 16 MiB"},
		{"POST", OwnPath + "busy", "{}", annaToken, 404, "not found"},
		{"POST", "/mcp/../own/busy", "{}", annaToken, 307, ""},
		{"POST", "/", "{}", annaToken, 404, "not found"},
		{"GET", "/metrics", "", annaToken, 401, "token of the operator"},
		{"GET", "/metrics", "", operatorToken, 200, "figures"},
		{"POST", "/events/a/b", "{}", "-Authorization", 401, "sign it, or the bearer token"},
	} {
		w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		if status, _, text := w.do(c.method, url+c.path, c.body, c.token); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, text)
		}
	}
	for body, want := range map[string]string{"{}": "event token:anna /events/a/b {}", strings.Repeat("x", triggerBody+1): "too long", strings.Repeat("x", triggerBody): "event token:anna /events/a/b xxxxx"} {
		if _, _, text := w.do("POST", url+"/events/a/b", body, annaToken, "X-Signed: 1"); !strings.Contains(text, want) {
			t.Errorf("%d bytes: %s", len(body), text)
		}
	}
	w.client.CloseIdleConnections()
	cancel()
	if err := await(t, served); err != nil {
		t.Error(err)
	}
}

// TestBehind checks that the server of a workspace takes the principal that the front names, and
// that requests without one reach nothing of a session.
func TestBehind(t *testing.T) {
	s, _ := newServer(t, time.Second)
	own := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "own "+r.URL.Path) })
	w := serveHTTP(t, s, HTTP{Behind: &Behind{Own: own}})
	of := func(id string) string {
		h := http.Header{}
		identity.Principal{ID: id}.Pass(h)
		return "Mcp-Toolset-Principal: " + h.Get("Mcp-Toolset-Principal")
	}
	anna := w.sessionOf(of("token:anna"))
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	base := strings.TrimSuffix(w.url, "/mcp")
	for _, c := range []struct {
		url, body, principal, session string
		status                        int
		text                          string
	}{
		{w.url, ping, of("token:anna"), anna, 200, "result"},
		{w.url, ping, of("token:bob"), anna, 404, "session"},
		{w.url, ping, "-X", anna, 401, "named no principal"},
		{w.url, ping, "Mcp-Toolset-Principal: e30x", anna, 401, "named no principal"},
		{base + OwnPath + "x", ping, "-X", "-X", 200, "own /own/x"},
		{base + OwnPath + "x", ping, of("token:anna"), "-X", 404, "not found"},
	} {
		if status, _, text := w.do("POST", c.url, c.body, c.principal, c.session); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s with %s: %d %s", c.url, c.principal, status, text)
		}
	}
}
