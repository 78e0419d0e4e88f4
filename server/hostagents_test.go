package server

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mcp-toolset/internal/identity"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// TestHostAgents checks that each agent of a host has a session of its own, which begins where the
// main one is and ends with the connection.
func TestHostAgents(t *testing.T) {
	where := tools.MustBuild(tools.Def[gateIn, gateIn, gateOut]{Name: "Where", Prompt: "Moves the session.",
		Call: func(_ context.Context, env *tools.Env, in gateIn) (out tools.Result[gateOut], err error) {
			if in.Name != "stay" {
				on := in.Name == "plan"
				out.Effect = session.Effect{Dir: "/" + in.Name, Planning: &on}
			}
			out.Data = gateOut{fmt.Sprintf("%s, planning %t, agent (%s), client %s", env.Session.Dir, env.Session.Planning, env.Session.Agent, env.Session.Client)}
			return out, nil
		},
		IsReadOnly: tools.Always[gateIn](),
		Render:     func(o gateOut) []tools.Content { return []tools.Content{tools.Text{Text: o.Name}} }})
	s, root := newServer(t, time.Second, where)
	var ended atomic.Int32
	s.SessionEnded = func(session.View) { ended.Add(1) }
	line := func(id int, agent, to string) string {
		meta := ""
		if agent != "" {
			meta = fmt.Sprintf(`,"_meta":{"mcp-toolset/agent":%q}`, agent)
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"Where","arguments":{"name":%q}%s}}`, id, to, meta)
	}
	steps := []struct{ agent, to, want string }{
		{"", "stay", root + ", planning false, agent ()"},
		{"", "a", root + ", planning false"},
		{"one", "plan", "/a, planning false, agent (one)"},
		{"", "stay", "/a, planning false"},
		{"one", "stay", "/plan, planning true"},
		{"", "plan", "/a"},
		{"two", "b", "/plan, planning true, agent (two)"},
		{"two", "stay", "/b, planning false"},
		{"one", "stay", "/plan, planning true"},
		{"not an id", "stay", "/plan, planning true, agent ()"},
	}
	play := func(call func(line string) string) {
		t.Helper()
		ended.Store(0)
		for i, step := range steps {
			if got := call(line(i+10, step.agent, step.to)); !strings.Contains(got, step.want) || !strings.Contains(got, "client test") {
				t.Errorf("step %d: %s, want %s", i, got, step.want)
			}
		}
	}
	p := connect(t, t.Context(), s)
	p.send("%s", initialize)
	p.next()
	play(func(line string) string {
		p.send("%s", line)
		return p.next()
	})
	if _, err := p.end(); err != nil || ended.Load() != 3 {
		t.Errorf("over stdio %d sessions have ended, %v", ended.Load(), err)
	}
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	id := w.session()
	play(func(line string) string {
		_, _, body := w.do("POST", w.url, line, id)
		return body
	})
	w.do("DELETE", w.url, "", id)
	if ended.Load() != 3 {
		t.Errorf("over HTTP %d sessions have ended", ended.Load())
	}
}
