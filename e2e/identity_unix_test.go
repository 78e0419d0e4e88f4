//go:build unix

package e2e

import (
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/internal/identity/identitytest"
)

// TestIdentities checks a server whose users come from an identity provider, which it cannot reach at
// the start, and from a proxy.
func TestIdentities(t *testing.T) {
	t.Parallel()
	base := newBase(t)
	i := identitytest.New(t)
	i.Down.Store(true)
	file := func(name string) string { return filepath.Join(base, name) }
	p := startPlace(t, placeOptions{http: true, base: base, settings: "{}", args: []string{
		"--oauth-issuer", i.URL, "--oauth-audience", identitytest.Audience,
		"--identity-header", "X-Assertion", "--identity-jwks", i.URL + "/jwks", "--identity-issuer", i.URL, "--identity-audience", "proxy",
		"--mode", "bypassPermissions", "--log-level", "debug", "--log-file", file("log"), "--audit", file("audit"), "--trace", file("trace"),
	}, env: []string{"MCP_TOOLSET_TOKEN="}})
	site := strings.TrimSuffix(p.url, "/mcp")
	send := func(method, url string, header http.Header, body string) (int, http.Header, string) {
		t.Helper()
		r, err := http.NewRequest(method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header.Clone()
		if r.Header == nil {
			r.Header = http.Header{}
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Host = "mcp.example.com"
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, resp.Header, string(text)
	}
	var used []string
	bearer := func(claims map[string]any) http.Header {
		if claims == nil {
			claims = map[string]any{}
		}
		claims["name"] = "Anna"
		used = append(used, i.Token(claims))
		return http.Header{"Authorization": {"Bearer " + used[len(used)-1]}}
	}
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"Bash","arguments":{"command":"env; id >here"}}}`

	if status, header, text := send("POST", p.url, bearer(nil), initialize); status != http.StatusServiceUnavailable || header.Get("Retry-After") != "60" {
		t.Error("without keys:", status, text)
	}
	if status, _, text := send("GET", site+"/readyz", nil, ""); status != http.StatusServiceUnavailable || !strings.Contains(text, i.URL) {
		t.Error("ready without keys:", status, text)
	}
	if status, _, _ := send("GET", site+"/healthz", nil, ""); status != http.StatusOK {
		t.Error("not alive:", status)
	}
	if status, _, text := send("GET", site+"/.well-known/oauth-protected-resource/mcp", nil, ""); status != http.StatusOK || !strings.Contains(text, `"resource":"`+identitytest.Audience+`"`) {
		t.Error("the description:", status, text)
	}
	// The next fetch is in a minute. Another server has the keys from the start.
	i.Down.Store(false)
	q := startPlace(t, placeOptions{http: true, base: newBase(t), settings: "{}", args: []string{
		"--oauth-issuer", i.URL, "--oauth-audience", identitytest.Audience,
		"--identity-header", "X-Assertion", "--identity-jwks", i.URL + "/jwks", "--identity-issuer", i.URL, "--identity-audience", "proxy",
		"--mode", "bypassPermissions", "--log-level", "debug", "--log-file", file("log2"), "--audit", file("audit2"), "--trace", file("trace2"),
	}, env: []string{"MCP_TOOLSET_TOKEN="}})
	status, header, text := send("POST", q.url, bearer(nil), initialize)
	if status != http.StatusOK {
		t.Fatal(status, text)
	}
	if status, _, text := send("GET", strings.TrimSuffix(q.url, "/mcp")+"/readyz", nil, ""); status != http.StatusOK {
		t.Error("not ready:", status, text)
	}
	in := func(h http.Header) http.Header {
		h.Set("Mcp-Session-Id", header.Get("Mcp-Session-Id"))
		return h
	}
	_, _, answer := send("POST", q.url, in(bearer(map[string]any{"jti": "2"})), call)
	if !strings.Contains(answer, "PATH=") {
		t.Error(answer)
	}
	assertion := i.Token(map[string]any{"aud": "proxy", "name": "Anna"})
	used = append(used, assertion)
	if status, _, text := send("POST", q.url, in(http.Header{"X-Assertion": {assertion}, "Authorization": {"Basic cHJveHk6c2VjcmV0"}}), call); status != http.StatusOK {
		t.Error("the same user by the header of the proxy:", status, text)
	}
	if status, h, text := send("POST", q.url, in(bearer(map[string]any{"scope": "toolset:read"})), call); status != http.StatusForbidden || !strings.Contains(h.Get("WWW-Authenticate"), `error="insufficient_scope"`) {
		t.Error("a command without the scope:", status, text)
	}
	if status, _, text := send("POST", q.url, in(bearer(map[string]any{"exp": 1000})), call); status != http.StatusUnauthorized {
		t.Error("an expired token:", status, text)
	}
	send("POST", q.url+"?access_token="+used[0], nil, call)
	if audit, _ := os.ReadFile(file("audit2")); strings.Count(string(audit), `"principal":"`+i.URL+`:anna","user":"Anna"`) != 2 {
		t.Errorf("the audit log: %s", audit)
	}
	files := 0
	err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		data, _ := os.ReadFile(path)
		for _, token := range used {
			if strings.Contains(string(data)+answer, token[strings.LastIndex(token, "."):]) {
				t.Errorf("%s or an answer has a token", path)
			}
		}
		files++
		return nil
	})
	if err != nil || files < 6 {
		t.Errorf("%d files were looked at: %v", files, err)
	}
}
