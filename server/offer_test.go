package server

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/identity"
	"mcp-toolset/tools"
)

// initializeAs returns an initialize message of a client with this name.
func initializeAs(name string) string {
	return strings.Replace(initialize, `"name":"test"`, fmt.Sprintf(`"name":%q`, name), 1)
}

// bulky returns an upstream server with n tools of 500 tokens each.
func bulky(t *testing.T, n int) tools.Server {
	t.Helper()
	server := tools.Server{Name: "maps", Prefix: "maps", State: tools.Ready}
	for i := range n {
		tool := upstreamTool(t, "maps", fmt.Sprintf("t%d", i))
		tool.Prompt = strings.Repeat("word ", 400)
		server.Tools = append(server.Tools, tool)
	}
	return server
}

const (
	listLine   = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	modernList = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`
	small      = "Read mcp__maps__t0"
	dispatched = "Read ToolSearch"
	everything = "Read mcp__maps__t0 mcp__maps__t1 mcp__maps__t2 mcp__maps__t3 mcp__maps__t4 mcp__maps__t5 mcp__maps__t6 mcp__maps__t7"
)

// TestOffered checks that clients that defer tools themselves get all tools.
// Others get ToolSearch if the list is too large or may become so.
func TestOffered(t *testing.T) {
	fits, large, unknown := bulky(t, 1), bulky(t, 8), tools.Server{Name: "slow", State: tools.Idle}
	for _, c := range []struct {
		servers []tools.Server
		defers  bool
		send    string // before the list; "": nothing
		list    string
		want    string
	}{
		{[]tools.Server{large}, false, initializeAs("claude-code"), listLine, everything},
		{[]tools.Server{large}, false, initializeAs("cursor"), listLine, dispatched},
		{[]tools.Server{large}, true, initializeAs("cursor"), listLine, everything},
		{[]tools.Server{large}, true, "", modernList, everything},
		{[]tools.Server{large}, false, "", modernList, dispatched},
		{[]tools.Server{fits}, false, initializeAs("cursor"), listLine, small},
		{[]tools.Server{fits}, false, "", modernList, small},
		{[]tools.Server{unknown}, false, initializeAs("cursor"), listLine, dispatched},
		{[]tools.Server{unknown}, false, initializeAs("claude-code"), listLine, "Read"},
	} {
		s, _ := newServerFor(t, time.Second, tools.DeferAuto, finder())
		s.Defers = c.defers
		s.Registry.SetServers(c.servers)
		p := connect(t, t.Context(), s)
		if c.send != "" {
			p.send("%s", c.send)
			if got := p.next(); strings.Contains(got, "found with ToolSearch") != (c.want == dispatched) {
				t.Errorf("the instructions do not fit the list: %s", got)
			}
		}
		p.send("%s", c.list)
		if got := listed(t, p.next()); got != c.want {
			t.Errorf("%d tools, defers %v, %s: %s, want %s", len(c.servers[0].Tools), c.defers, c.send, got, c.want)
		}
		p.send("%s", callLine(2, "nothing", `{}`))
		if got := p.next(); strings.Contains(got, "Find others with ToolSearch") != (c.want == dispatched) {
			t.Errorf("%s: an unknown tool: %s", c.send, got)
		}
		if _, err := p.end(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOfferedHTTP checks that over HTTP a session gets the list for its client,
// and a request without a session the list for clients that defer tools
// themselves.
func TestOfferedHTTP(t *testing.T) {
	s, _ := newServerFor(t, time.Second, tools.DeferAuto, finder())
	s.Registry.SetServers([]tools.Server{bulky(t, 8)})
	w := serveHTTP(t, s, HTTP{Users: identity.NewOne(goodToken)})
	for name, want := range map[string]string{"claude-code": everything, "vscode": dispatched} {
		_, header, _ := w.do("POST", w.url, initializeAs(name))
		_, _, body := w.do("POST", w.url, listLine, "Mcp-Session-Id: "+header.Get("Mcp-Session-Id"))
		if got := listed(t, body); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	_, _, body := w.do("POST", w.url, modernList, "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list")
	if got := listed(t, body); got != everything {
		t.Errorf("without a session: %s", got)
	}
}

// TestOfferNeverVaries checks that the first offer on a connection stays,
// whatever happens to upstream servers and whatever its client sends later.
// Clients are notified only of changes of their own list. The name decides for
// a client that discovers first and initializes later.
func TestOfferNeverVaries(t *testing.T) {
	s, _ := newServerFor(t, time.Second, tools.DeferAuto, finder())
	s.Registry.SetServers([]tools.Server{bulky(t, 7)})
	early, late := connect(t, t.Context(), s), connect(t, t.Context(), s)
	begin := func(p *peer, name string) {
		p.send("%s", initializeAs(name))
		p.next()
		p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	list := func(p *peer) string {
		p.send("%s", listLine)
		return listed(t, p.next())
	}
	begin(early, "cursor")
	if got, want := list(early), strings.TrimSuffix(everything, " mcp__maps__t7"); got != want {
		t.Fatalf("listed %s, want %s", got, want)
	}
	s.Registry.SetServers([]tools.Server{bulky(t, 8)})
	if got := early.next(); !strings.Contains(got, "list_changed") {
		t.Errorf("told %s", got)
	}
	if got := list(early); got != everything {
		t.Errorf("after a tool was added: %s", got)
	}
	late.send(`{"jsonrpc":"2.0","id":3,"method":"server/discover","params":{%s}}`, modernMeta)
	late.next()
	begin(late, "claude-code")
	if got := list(late); got != everything {
		t.Errorf("discovered, then initialized: %s", got)
	}
	third := connect(t, t.Context(), s)
	begin(third, "cursor")
	if got := list(third); got != dispatched {
		t.Errorf("a new connection: %s", got)
	}
	begin(third, "claude-code")
	s.Registry.SetServers([]tools.Server{bulky(t, 1)})
	if got := list(third); got != dispatched {
		t.Errorf("it became %s", got)
	}
	for _, p := range []*peer{early, late, third} {
		rest, err := p.end()
		if err != nil {
			t.Fatal(err)
		}
		if p == third && len(rest) > 0 {
			t.Errorf("it was told of a list that is not its own: %v", rest)
		}
	}
}

// TestOwnTools checks that tools of features which a client has itself are not listed, unless they
// were switched on.
func TestOwnTools(t *testing.T) {
	featured := func(name, feature string) *tools.Tool {
		return tools.MustBuild(tools.Def[gateIn, gateIn, gateOut]{Name: name, Prompt: "x", Feature: feature,
			Call: func(context.Context, *tools.Env, gateIn) (tools.Result[gateOut], error) {
				return tools.Result[gateOut]{}, nil
			}})
	}
	for client, want := range map[string]string{
		"claude-code": "Other Read Tree", "opencode": "Other Plan Read Tree", "cursor": "Load Other Plan Read Tree",
	} {
		s, _ := newServer(t, time.Second, featured("Load", "skills"), featured("Plan", "plan"), featured("Tree", "worktrees"), featured("Other", "todo"))
		p := connect(t, t.Context(), s)
		p.send("%s", initializeAs(client))
		p.next()
		p.send("%s", listLine)
		if got := listed(t, p.next()); got != want {
			t.Errorf("%s: %s, want %s", client, got, want)
		}
		if _, err := p.end(); err != nil {
			t.Fatal(err)
		}
	}
}
