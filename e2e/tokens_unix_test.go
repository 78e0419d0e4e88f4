//go:build unix

package e2e

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestNamedTokens checks that the users of a server have sessions and approvals of their own, and
// that a token that is removed from the file ends.
func TestNamedTokens(t *testing.T) {
	t.Parallel()
	base := newBase(t)
	anna, bob, operator := strings.Repeat("a", 32), strings.Repeat("b", 32), strings.Repeat("c", 32)
	keep := func(name, text string) string {
		if err := os.WriteFile(base+"/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return base + "/" + name
	}
	users, own := keep("tokens", "anna:"+anna+"\nbob:"+bob), keep("operator", operator)
	p := startPlace(t, placeOptions{http: true, base: base, settings: "{}", args: []string{"--tokens", users, "--operator-token-file", own}, env: []string{"MCP_TOOLSET_TOKEN="}})
	send := func(method, url, token, session, body string) (int, string, string) {
		t.Helper()
		r, err := http.NewRequest(method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {session}}
		if session == "" {
			r.Header.Del("Mcp-Session-Id")
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, resp.Header.Get("Mcp-Session-Id"), string(text)
	}
	open := func(token string) string {
		t.Helper()
		status, id, text := send("POST", p.url, token, "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		if status != http.StatusOK {
			t.Fatal(status, text)
		}
		return id
	}
	call := func(token, session, tool, args string) (int, string) {
		t.Helper()
		status, _, text := send("POST", p.url, token, session, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+args+`}}`)
		return status, text
	}
	one, two := open(anna), open(bob)
	if _, text := call(anna, one, "CronCreate", `{"cron":"0 7 * * *","prompt":"plan of anna","durable":true}`); !strings.Contains(text, "d1") {
		t.Error(text)
	}
	if _, text := call(anna, one, "CronList", `{}`); !strings.Contains(text, "plan of anna") {
		t.Error(text)
	}
	if _, text := call(bob, two, "CronList", `{}`); strings.Contains(text, "anna") {
		t.Error("bob sees the schedule of anna: " + text)
	}
	if status, text := call(bob, one, "CronList", `{}`); status != http.StatusNotFound {
		t.Error("bob calls in the session of anna:", status, text)
	}
	site := strings.TrimSuffix(p.url, "/mcp")
	for token, want := range map[string]int{anna: http.StatusUnauthorized, operator: http.StatusOK} {
		if status, _, _ := send("GET", site+"/metrics", token, "", ""); status != want {
			t.Errorf("the figures with %.1s: %d", token, status)
		}
	}
	for token, want := range map[string]int{anna: http.StatusForbidden, operator: http.StatusOK} {
		r, _ := http.NewRequest(http.MethodPost, site+"/console/login", strings.NewReader("token="+token))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("the console with %.1s: %d", token, resp.StatusCode)
		}
	}
	keep("tokens", "bob:"+bob)
	becomes(t, "the token of anna is refused", func() bool {
		status, _ := call(anna, one, "CronList", `{}`)
		return status == http.StatusUnauthorized
	})
	keep("tokens", "anna:"+anna+"\nbob:"+bob)
	becomes(t, "the token of anna is taken again, and its session has ended", func() bool {
		status, _ := call(anna, one, "CronList", `{}`)
		return status == http.StatusNotFound
	})
	if status, text := call(bob, two, "CronList", `{}`); status != http.StatusOK {
		t.Error("the session of bob has ended, too:", status, text)
	}
}
