package server

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// finder returns a tool that loads the tool named in its input.
func finder() *tools.Tool {
	return tools.MustBuild(tools.Def[listIn, listIn, gateOut]{Name: "ToolSearch", Prompt: "Finds tools.", Loading: tools.LoadAlways, Finder: true,
		IsReadOnly: tools.Always[listIn](), IsConcurrencySafe: tools.Always[listIn](),
		Call: func(_ context.Context, _ *tools.Env, in listIn) (tools.Result[gateOut], error) {
			return tools.Result[gateOut]{Effect: session.Effect{Loaded: []string{in.Word}}}, nil
		}})
}

func upstreamTool(t *testing.T, server, name string) *tools.Tool {
	t.Helper()
	yes := true
	tool, err := tools.BuildForeign(tools.Foreign{
		Server: server, Name: "mcp__" + server + "__" + name, Prompt: "Says " + name + ".", Loading: tools.LoadDeferred,
		InputSchema: json.RawMessage(`{"type":"object","anyOf":[{"required":["a"]},{}]}`), Declared: tools.DeclaredAnnotations{ReadOnly: &yes},
		Call: func(_ context.Context, _ *tools.Env, raw json.RawMessage) (*tools.Response, error) {
			return &tools.Response{Content: []tools.Content{tools.Text{Text: name + string(raw)}}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// listed returns the names in an answer to tools/list.
func listed(t *testing.T, answer string) string {
	t.Helper()
	var r struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(answer), &r); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range r.Result.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

// TestLegacyList checks that tools found by a session of an old protocol are
// added to its list only, and that its client is notified. From protocol
// 2026-07-28 on, the list does not depend on calls.
func TestLegacyList(t *testing.T) {
	s, _ := newServerFor(t, time.Second, tools.DeferLegacyList, finder())
	s.Registry.SetServers([]tools.Server{{Name: "maps", State: tools.Ready, Tools: []*tools.Tool{upstreamTool(t, "maps", "place")}}})
	p, other := connect(t, t.Context(), s), connect(t, t.Context(), s)
	p.send(initialize)
	if answer := p.next(); !strings.Contains(answer, `"tools":{"listChanged":true}`) || !strings.Contains(answer, "mcp__maps__place") {
		t.Errorf("initialized with %s", answer)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if got := listed(t, p.next()); got != "Read ToolSearch" {
		t.Errorf("listed at first: %s", got)
	}
	p.send("%s", callLine(2, "ToolSearch", `{"word":"mcp__maps__place"}`))
	lines := []string{p.next(), p.next()}
	if all := strings.Join(lines, "\n"); strings.Count(all, "notifications/tools/list_changed") != 1 {
		t.Errorf("after a search: %s", all)
	}
	p.send("%s", callLine(3, "ToolSearch", `{"word":"mcp__maps__place"}`)) // nothing new
	p.next()
	p.send(`{"jsonrpc":"2.0","id":4,"method":"tools/list"}`)
	if got := listed(t, p.next()); got != "Read ToolSearch mcp__maps__place" {
		t.Errorf("listed then: %s", got)
	}
	for i := range 2 {
		other.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{%s}}`, 10*i+1, strings.TrimPrefix(modernMeta, ","))
		if got := listed(t, other.next()); got != "Read ToolSearch" {
			t.Errorf("listed for another: %s", got)
		}
		other.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ToolSearch","arguments":{"word":"mcp__maps__place"}%s}}`, 10*i+2, modernMeta)
		other.next()
	}
	for _, c := range []*peer{p, other} {
		if _, err := c.end(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUpstreamList checks that upstream tools follow the built-in ones, whose
// part of the list keeps its bytes. Their definitions are unchanged, listening
// clients are notified of changes, and each can be called, listed or not.
func TestUpstreamList(t *testing.T) {
	s, _ := newServerFor(t, time.Second, tools.DeferOff, finder())
	list := func() string {
		data, err := s.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	own := list()
	p := connect(t, t.Context(), s)
	p.send(initialize)
	p.next()
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.send(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	p.next()
	s.Registry.SetServers([]tools.Server{{Name: "maps", State: tools.Ready, Tools: []*tools.Tool{upstreamTool(t, "maps", "place")}}})
	if got := p.next(); !strings.Contains(got, "notifications/tools/list_changed") {
		t.Errorf("told %s", got)
	}
	prefix := strings.TrimSuffix(own, `]}`)
	if got := list(); !strings.HasPrefix(got, prefix+",") || strings.Contains(got, "ToolSearch") ||
		!strings.Contains(got, `{"_meta":{"anthropic/maxResultSizeChars":100000},"annotations":{"title":"mcp__maps__place","readOnlyHint":true},"description":"Says place.",`+
			`"inputSchema":{"type":"object","anyOf":[{"required":["a"]},{}]},"name":"mcp__maps__place","title":"mcp__maps__place"}`) {
		t.Errorf("listed %s\nbefore %s", got, own)
	}
	p.send("%s", callLine(1, "mcp__maps__place", `{"b":1.50,"a":"<"}`))
	if got := p.next(); !strings.Contains(got, `place{\"b\":1.50,\"a\":\"\u003c\"}`) && !strings.Contains(got, `place{\"b\":1.50,\"a\":\"<\"}`) {
		t.Errorf("the arguments came as %s", got)
	}
	p.send("%s", callLine(2, carrier, `{}`))
	if got := p.next(); !strings.Contains(got, `-32602`) || !strings.Contains(got, `there is no tool \"call\"`) {
		t.Errorf("the carrier answers %s", got)
	}
	if _, err := p.end(); err != nil {
		t.Fatal(err)
	}
}

// TestDeferredNames checks that the instructions name the unlisted tools, or
// give their number if there is no room, and stay below the size at which
// clients truncate them.
func TestDeferredNames(t *testing.T) {
	r, err := tools.NewRegistry([]*tools.Tool{finder()}, tools.Gates{Deferral: tools.DeferDispatch})
	if err != nil {
		t.Fatal(err)
	}
	var servers []tools.Server
	for i := range 12 {
		server := tools.Server{Name: fmt.Sprintf("s%d", i)}
		for j := range 50 {
			server.Tools = append(server.Tools, upstreamTool(t, server.Name, fmt.Sprintf("tool_%d", j)))
		}
		servers = append(servers, server)
	}
	var many []tools.Server
	for i := range 100 {
		many = append(many, tools.Server{Name: fmt.Sprintf("server-%d", i)})
	}
	few := tools.Server{Name: "maps", Tools: servers[0].Tools[:2]}
	unknown := tools.Server{Name: "slow", State: tools.Pending}
	refused := tools.Server{Name: "never", State: tools.Refused}
	long := []string{"/" + strings.Repeat("x", 1500)}
	for _, c := range []struct {
		servers     []tools.Server
		roots       []string
		want, never string
	}{
		{nil, []string{"/w"}, "Read that file.", "Further"},
		{[]tools.Server{few, refused}, []string{"/w"}, "CallTool: mcp__s0__tool_0, mcp__s0__tool_1.", "never"},
		{[]tools.Server{few, unknown}, []string{"/w"}, "CallTool: mcp__s0__tool_0, mcp__s0__tool_1, those of the server slow.", "2 of"},
		{servers, []string{"/w"}, "CallTool: 50 of the server s0, 50 of the server s1, ", "mcp__"},
		{many, long, " more servers.", "mcp__"},
	} {
		for i := range c.servers {
			if c.servers[i].Name == "maps" {
				c.servers[i].Tools = []*tools.Tool{upstreamToolOf(t, "maps", "mcp__s0__tool_0"), upstreamToolOf(t, "maps", "mcp__s0__tool_1")}
			}
		}
		r.SetServers(c.servers)
		text := instructions(c.roots, r, nil, tools.DeferDispatch, Conditions{Sandbox: true, Plan: true, Asks: true}, MaxInstructions)
		if len(text) > MaxInstructions || !strings.Contains(text, c.want) || strings.Contains(text, c.never) {
			t.Errorf("%d bytes, want %q and not %q: %s", len(text), c.want, c.never, text)
		}
	}
}

func upstreamToolOf(t *testing.T, server, name string) *tools.Tool {
	t.Helper()
	tool, err := tools.BuildForeign(tools.Foreign{Server: server, Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)})
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// TestAlwaysUpstreamTold checks that, with deferral by search, clients are
// notified of upstream tools that are always listed, and of no others.
func TestAlwaysUpstreamTold(t *testing.T) {
	for _, how := range []tools.Deferral{tools.DeferDispatch, tools.DeferLegacyList} {
		s, _ := newServerFor(t, time.Second, how, finder())
		p := connect(t, t.Context(), s)
		p.send(initialize)
		if got := p.next(); !strings.Contains(got, `"tools":{"listChanged":true}`) {
			t.Errorf("%s: initialized with %s", how, got)
		}
		p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		p.send(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
		p.next()
		always := upstreamTool(t, "maps", "place")
		always.Loading = tools.LoadAlways
		deferred := upstreamTool(t, "maps", "route")
		s.Registry.SetServers([]tools.Server{{Name: "maps", State: tools.Ready, Tools: []*tools.Tool{deferred}}})
		p.send(`{"jsonrpc":"2.0","id":10,"method":"ping"}`)
		if got := p.next(); !strings.Contains(got, `"id":10`) {
			t.Errorf("%s: told of a tool that is not listed: %s", how, got)
		}
		s.Registry.SetServers([]tools.Server{{Name: "maps", State: tools.Ready, Tools: []*tools.Tool{always, deferred}}})
		if got := p.next(); !strings.Contains(got, "notifications/tools/list_changed") {
			t.Errorf("%s: told %s", how, got)
		}
		if _, err := p.end(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestListWakes checks that a list connects the upstream servers whose tools it
// shows. With deferral by search, these are only the ones that are always
// loaded.
func TestListWakes(t *testing.T) {
	for how, want := range map[tools.Deferral]string{tools.DeferHints: "[true]", tools.DeferOff: "[true]", tools.DeferDispatch: "[false]", tools.DeferLegacyList: "[false]"} {
		s, _ := newServerFor(t, time.Second, how)
		var woken []bool
		s.WakeListed = func(_ context.Context, all bool, _ time.Duration) { woken = append(woken, all) }
		if _, err := s.List(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(woken); got != want {
			t.Errorf("%s: all servers are woken: %s, want %s", how, got, want)
		}
	}
}

// TestListWaits checks that the list of a client that asks for it once waits for upstream servers
// whose tools are not known.
func TestListWaits(t *testing.T) {
	for client, want := range map[string]time.Duration{"codex-mcp-client": onceWait, "@cline/core": onceWait, "claude-code": 0, "x": 0} {
		s, _ := newServerFor(t, time.Second, tools.DeferHints)
		got := time.Duration(-1)
		s.WakeListed = func(_ context.Context, _ bool, most time.Duration) { got = most }
		p := connect(t, t.Context(), s)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":%q,"version":"1"}}}`, client)
		p.next()
		p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		p.next()
		if got != want {
			t.Errorf("%s: the list waits %v, want %v", client, got, want)
		}
	}
}
