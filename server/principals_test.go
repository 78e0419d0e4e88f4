package server

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/identity"
)

const annaToken, bobToken, operatorToken = "Authorization: Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "Authorization: Bearer bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "Authorization: Bearer cccccccccccccccccccccccccccccccc"

// tokens returns the source of a file with the tokens of anna and bob.
func tokens(t *testing.T) *identity.Tokens {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	lines := "anna:" + strings.TrimPrefix(annaToken, "Authorization: Bearer ") + "\nbob:" + strings.TrimPrefix(bobToken, "Authorization: Bearer ")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	users, err := identity.ReadTokens(file, strings.TrimPrefix(operatorToken, "Authorization: Bearer "))
	if err != nil {
		t.Fatal(err)
	}
	return users
}

// sessionOf opens a session with a token and returns its header.
func (w *web) sessionOf(token string) string {
	w.t.Helper()
	status, header, text := w.do("POST", w.url, initialize, token)
	if status != http.StatusOK {
		w.t.Fatalf("%d %s", status, text)
	}
	return "Mcp-Session-Id: " + header.Get("Mcp-Session-Id")
}

// TestPrincipals checks that a session is absent for everybody else, whatever the request.
func TestPrincipals(t *testing.T) {
	s, _ := newServer(t, time.Second)
	w := serveHTTP(t, s, HTTP{Users: tokens(t), Operator: identity.NewOne(strings.TrimPrefix(operatorToken, "Authorization: Bearer ")), Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("figures")) })})
	anna := w.sessionOf(annaToken)
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	metrics := strings.TrimSuffix(w.url, "/mcp") + "/metrics"
	for _, c := range []struct {
		method, url, body, token, session string
		status                            int
		text                              string
	}{
		{"POST", w.url, ping, annaToken, anna, 200, "result"},
		{"POST", w.url, ping, bobToken, anna, 404, "session"},
		{"POST", w.url, callLine(1, "Read", `{"file_path":"a.txt"}`), bobToken, anna, 404, "session"},
		{"POST", w.url, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, bobToken, anna, 404, "session"},
		{"POST", w.url, `{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`, bobToken, anna, 404, "session"},
		{"GET", w.url, "", bobToken, anna, 404, "session"},
		{"DELETE", w.url, "", bobToken, anna, 404, "session"},
		{"POST", w.url, ping, operatorToken, anna, 401, "bearer token"},
		{"POST", w.url, initialize, "-Authorization", "-X", 401, "bearer token"},
		{"GET", metrics, "", annaToken, "-X", 401, "token of the operator"},
		{"GET", metrics, "", "-Authorization", "-X", 401, "token of the operator"},
		{"GET", metrics, "", operatorToken, "-X", 200, "figures"},
		{"POST", w.url, ping, annaToken, anna, 200, "result"},
	} {
		if status, _, text := w.do(c.method, c.url, c.body, c.token, c.session); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s %s with %s: %d %s", c.method, c.body, c.token, status, text)
		}
	}
}

// TestSessionsOfOne checks that a principal who opens too many sessions ends only own ones.
func TestSessionsOfOne(t *testing.T) {
	s, _ := newServer(t, time.Second)
	w := serveHTTP(t, s, HTTP{Users: tokens(t)})
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	status := func(token, session string) int {
		got, _, _ := w.do("POST", w.url, ping, token, session)
		return got
	}
	bob := w.sessionOf(bobToken)
	var anna []string
	for range sessionsEach + 1 {
		anna = append(anna, w.sessionOf(annaToken))
	}
	if got := []int{status(bobToken, bob), status(annaToken, anna[0]), status(annaToken, anna[1]), status(annaToken, anna[sessionsEach])}; got[0] != 200 || got[1] != 404 || got[2] != 200 || got[3] != 200 {
		t.Errorf("bob's session, anna's first, second and last: %v", got)
	}
	busy := func(by int) {
		m := s.httpSessions.Load()
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, h := range m.byID {
			if h.by.ID == "token:anna" {
				h.active += by
			}
		}
	}
	busy(1) // as with a call in progress
	if code, header, text := w.do("POST", w.url, initialize, annaToken); code != http.StatusTooManyRequests || header.Get("Retry-After") == "" || !strings.Contains(text, "-32029") || !strings.Contains(text, errSessions) {
		t.Errorf("one more while all are busy: %d %s", code, text)
	}
	if w.sessionOf(bobToken) == "" {
		t.Error("bob has no more sessions")
	}
	busy(-1)
}

// TestEndPrincipals checks that the sessions and calls of a token that was removed end, and no others.
func TestEndPrincipals(t *testing.T) {
	g := newGate()
	s, _ := newServer(t, time.Second, g.tool("Wait", true))
	w := serveHTTP(t, s, HTTP{Users: tokens(t)})
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Wait","arguments":{"name":"w"},` + modernMeta + `}}`
	hers, his := w.post(call, append(modern("tools/call", "Wait"), annaToken)...), w.post(call, append(modern("tools/call", "Wait"), bobToken)...)
	await(t, g.begun)
	await(t, g.begun)
	anna, bob := w.sessionOf(annaToken), w.sessionOf(bobToken)
	s.EndPrincipals(func(p identity.Principal) bool { return p.ID != "token:anna" })
	if got := await(t, hers); strings.Contains(got.body, "result") {
		t.Errorf("anna's call: %+v", got)
	}
	close(g.open)
	if got := await(t, his); !strings.Contains(got.body, "result") {
		t.Errorf("bob's call: %+v", got)
	}
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	if status, _, _ := w.do("POST", w.url, ping, annaToken, anna); status != http.StatusNotFound {
		t.Errorf("anna's session: %d", status)
	}
	if status, _, _ := w.do("POST", w.url, ping, bobToken, bob); status != http.StatusOK {
		t.Errorf("bob's session: %d", status)
	}
}
