package server

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"mcp-toolset/internal/identity"
	"mcp-toolset/tools"
)

// TestClientName checks that calls know the name that their client gave at initialize, and
// that a later name is ignored.
func TestClientName(t *testing.T) {
	who := tools.MustBuild(tools.Def[gateIn, gateIn, gateOut]{Name: "Who", Prompt: "Names the client.",
		Call: func(_ context.Context, env *tools.Env, _ gateIn) (tools.Result[gateOut], error) {
			return tools.Result[gateOut]{Data: gateOut{"client " + env.Session.Client}}, nil
		}})
	s, _ := newServer(t, deadline, who)
	p := connect(t, t.Context(), s)
	for i, name := range []string{"first", "second"} {
		p.send("%s", initializeAs(name))
		p.next()
		p.send("%s", callLine(10+i, "Who", `{"name":"x"}`))
		if got := p.next(); !strings.Contains(got, "client first") {
			t.Errorf("over stdio: %s", got)
		}
	}
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	_, header, _ := w.do("POST", w.url, initializeAs("third"))
	_, _, body := w.do("POST", w.url, callLine(1, "Who", `{"name":"x"}`), "Mcp-Session-Id: "+header.Get("Mcp-Session-Id"))
	if !strings.Contains(body, "client third") {
		t.Errorf("over HTTP: %s", body)
	}
	_, _, body = w.do("POST", w.url, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Who","arguments":{"name":"x"},%s}}`, modernMeta), modern("tools/call", "Who")...)
	if !strings.Contains(body, `client \"`) {
		t.Errorf("without a session: %s", body)
	}
}
