package server

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/identity"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// TestSessionHandle checks that results of stateless requests have a handle, that what a
// request with a handle starts belongs to those with the same one, and that a session has
// no handle.
func TestSessionHandle(t *testing.T) {
	who := tools.MustBuild(tools.Def[gateIn, gateIn, gateOut]{Name: "Who", Prompt: "Names the owner.",
		Call: func(_ context.Context, env *tools.Env, _ gateIn) (tools.Result[gateOut], error) {
			return tools.Result[gateOut]{Data: gateOut{fmt.Sprintf("owner %q", env.Session.Owner().Session)}}, nil
		},
		Render: func(o gateOut) []tools.Content { return []tools.Content{tools.Text{Text: o.Name}} }})
	s, _ := newServer(t, time.Second, who)
	var used []string // by the goroutines of requests, one after the other
	s.SessionUsed = func(v session.View) { used = append(used, v.Client+" "+v.Owner().Session) }
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	call := func(meta string, headers ...string) string {
		t.Helper()
		_, _, body := w.do("POST", w.url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Who","arguments":{"name":"x"}`+meta+`}}`, headers...)
		return body
	}
	stateless := func(handle string) string {
		t.Helper()
		return call(","+strings.Replace(modernMeta, "{", "{"+handle, 1), modern("tools/call", "Who")...)
	}
	handle := regexp.MustCompile(`"mcp-toolset/session":"([A-Z0-9]{26})"`)
	first := stateless("")
	offered := handle.FindStringSubmatch(first)
	if offered == nil || !strings.Contains(first, `owner \"\"`) {
		t.Fatalf("without a handle: %s", first)
	}
	if got := stateless(`"mcp-toolset/session":"` + offered[1] + `",`); !strings.Contains(got, `owner \"handle `+offered[1]+`\"`) || handle.FindStringSubmatch(got)[1] != offered[1] {
		t.Errorf("with a handle: %s", got)
	}
	for _, wrong := range []string{`1`, `""`, `"a b"`, `"` + strings.Repeat("x", 65) + `"`} {
		const want = `Who: invalid input: _meta has the key mcp-toolset/session with a value that is no handle of a result. Send this call again without it.`
		if got := stateless(`"mcp-toolset/session":` + wrong + `,`); !strings.Contains(got, want) || !strings.Contains(got, `"isError":true`) {
			t.Errorf("%s: %s", wrong, got)
		}
	}
	before := len(used)
	if got := call("", w.session()); handle.MatchString(got) || strings.Contains(got, `owner \"\"`) {
		t.Errorf("in a session: %s", got)
	}
	// The first call has no handle, and those with a wrong one are refused.
	if before != 1 || used[0] != " handle "+offered[1] || len(used) != 3 || used[1] != used[2] || strings.Contains(used[1], "handle") {
		t.Errorf("used are %q", used)
	}
}
