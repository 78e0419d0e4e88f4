package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/internal/settings"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// wrapping returns a bench with a wrapping tool and a tool of an upstream server.
func wrapping(t *testing.T, settings string, f tools.Foreign) *bench {
	t.Helper()
	b := newBench(t, settings)
	wrapper := doer("Wrap", func(d *tools.Def[doIn, doIn, doOut]) {
		d.Unwrap = func(raw json.RawMessage) (string, json.RawMessage, error) {
			var in struct {
				Name string
				Args json.RawMessage
			}
			if err := json.Unmarshal(raw, &in); err != nil || in.Name == "" {
				return "", nil, &tools.Fault{Fact: "there is no name", Next: "Name a tool."}
			}
			return in.Name, in.Args, nil
		}
	})
	list := append([]*tools.Tool{wrapper}, b.Registry.Tools()...)
	r, err := tools.NewRegistry(list, tools.Gates{Deferral: tools.DeferDispatch, Denied: func(t *tools.Tool) (string, bool) {
		rule, where, denied := b.rules.Load().Policy.DeniedTool(t.Name, t.Aliases)
		return "denied by rule " + rule + " in " + where, denied
	}})
	if err != nil {
		t.Fatal(err)
	}
	b.Registry = r
	f.Server, f.Name = "maps", "mcp__maps__place"
	if f.InputSchema == nil {
		f.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	if f.Call == nil {
		f.Call = func(_ context.Context, _ *tools.Env, raw json.RawMessage) (*tools.Response, error) {
			return &tools.Response{Content: []tools.Content{tools.Text{Text: "place " + string(raw)}}}, nil
		}
	}
	tool, err := tools.BuildForeign(f)
	if err != nil {
		t.Fatal(err)
	}
	r.SetServers([]tools.Server{{Name: "maps", State: tools.Ready, Tools: []*tools.Tool{tool}}})
	return b
}

// TestWrapped checks that a call of a wrapping tool is treated as a call of the
// inner tool at each stage. It must not bypass a rule, a hook or the audit log.
func TestWrapped(t *testing.T) {
	var seen []string
	b := wrapping(t, `{"permissions":{"deny":["Strict","mcp__secret","Do(deny.txt)"]}}`, tools.Foreign{})
	hooks, err := settings.Parse([]byte(`{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"look"}]}]}}`), "/s.json", "/")
	if err != nil {
		t.Fatal(err)
	}
	b.rules.Load().Hooks = hooks.Hooks()
	b.rules.Load().RunHooks = func(_ context.Context, _ hook.Event, _ []hook.Hook, in hook.Input) hook.Verdict {
		seen = append(seen, in.Tool)
		return hook.Verdict{}
	}
	var audited []string
	b.Audit = func(_ context.Context, e audit.Entry) error {
		audited = append(audited, e.Tool+" "+e.Outcome)
		return nil
	}
	for _, c := range []struct{ tool, args, want, audited string }{
		{"Wrap", `{"name":"Do","args":{"do":"x","arg":"done"}}`, "done", "Do ok"},
		{"Wrap", `{"name":"Former","args":{"do":"x","arg":"seen"}}`, "seen", "Look ok"},
		{"Wrap", `{"name":"mcp__maps__place","args":{"b":1,"a":2}}`, `place {"b":1,"a":2}`, "mcp__maps__place ok"},
		{"Wrap", `{"name":"Do","args":{"do":"x","path":"deny.txt"}}`, "failed: Do: refused by policy: the deny rule Do(deny.txt)", "Do refused"},
		{"Wrap", `{"name":"Do","args":{"du":1}}`, `failed: Do: invalid input: unknown property "du"`, "Do invalid"},
		{"Wrap", `{"name":"Strict","args":{"do":"x"}}`, `failed: Wrap: refused by policy: tool "Strict" is not available: denied by rule Strict in /etc/test.json:1. Use another tool.`, "Wrap refused"},
		{"Wrap", `{"name":"Doo"}`, `failed: Wrap: invalid input: there is no tool "Doo"; the nearest is Do. Find others with ToolSearch {"query": "doo"}`, "Wrap invalid"},
		{"Wrap", `{"name":"Wrap","args":{"name":"Do"}}`, `failed: Wrap: invalid input: Wrap cannot call Wrap. Name the tool that is to do the work.`, "Wrap invalid"},
		{"Wrap", `{}`, `failed: Wrap: invalid input: there is no name. Name a tool.`, "Wrap invalid"},
		{"Do", `{"do":"call","arg":"Wrap {\"name\":\"Do\",\"args\":{\"do\":\"x\",\"arg\":\"inner\"}}"}`, `Wrap said "inner", failed: false`, "Do ok,Do ok"},
	} {
		seen, audited = nil, nil
		if got := b.run(t, t.Context(), c.tool, c.args); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.args, got, c.want)
		}
		if got := strings.Join(audited, ","); got != c.audited {
			t.Errorf("%s: the audit has %s, want %s", c.args, got, c.audited)
		}
		for _, name := range seen {
			if name == "Wrap" {
				t.Errorf("%s: hooks have heard of %v", c.args, seen)
			}
		}
	}
	e := b.Explain(t.Context(), b.request("Wrap", `{"name":"Do","args":{"do":"x","path":"deny.txt"}}`))
	if e.Tool != "Do" || e.Decision.Rule != "Do(deny.txt)" {
		t.Errorf("explained as %+v", e)
	}
	if e := b.Explain(t.Context(), b.request("Wrap", `{}`)); e.Decision.Layer != policy.LayerInput || e.Error == "" {
		t.Errorf("explained as %+v", e)
	}
}

// idle lists a server whose tools are not known.
var idle = []tools.Server{{Name: "maps", Prefix: "maps"}}

// TestAwait checks that a call waits for the tool of an upstream server that is
// not connected.
func TestAwait(t *testing.T) {
	b := wrapping(t, "", tools.Foreign{})
	servers := b.Registry.Catalogue().Servers()
	var awaited []string
	b.Await = func(_ context.Context, name string) {
		awaited = append(awaited, name)
		b.Registry.SetServers(servers)
	}
	for _, c := range []struct{ tool, args, want string }{
		{"mcp__maps__place", `{}`, "place {}"},
		{"Wrap", `{"name":"mcp__maps__place","args":{}}`, "place {}"},
		{"mcp__maps__plase", `{}`, `error: there is no tool "mcp__maps__plase"; the nearest is mcp__maps__place`},
		{"Wrap", `{"name":"mcp__maps__plase","args":{}}`, `failed: Wrap: invalid input: there is no tool "mcp__maps__plase"; the nearest is mcp__maps__place`},
	} {
		b.Registry.SetServers(idle)
		awaited = nil
		if got := b.run(t, t.Context(), c.tool, c.args); !strings.HasPrefix(got, c.want) || len(awaited) != 1 {
			t.Errorf("%s %s: %s, awaited %v", c.tool, c.args, got, awaited)
		}
	}
	b.Registry.SetServers(idle)
	awaited = nil
	if e := b.Explain(t.Context(), Request{Tool: "mcp__maps__place", Arguments: json.RawMessage(`{}`), Log: b.request("Do", `{}`).Log}); len(awaited) > 0 || e.Error == "" {
		t.Errorf("explaining has waited for %v: %+v", awaited, e)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.Await = func(context.Context, string) { cancel() }
	if got := b.run(t, ctx, "mcp__maps__place", `{}`); got != "failed: mcp__maps__place: cancelled: the call was cancelled" {
		t.Error(got)
	}
}

// TestConnect checks that Connect runs before the decision, which is on the
// tool as it is defined then.
func TestConnect(t *testing.T) {
	var failing error
	var b *bench
	place := func(state tools.ServerState, f tools.Foreign) {
		b = wrapping(t, `{"permissions":{"ask":["mcp__maps__place"]}}`, f)
		servers := b.Registry.Catalogue().Servers()
		b.Registry.SetServers([]tools.Server{{Name: "maps", Prefix: "maps", State: state, Tools: servers[0].Tools}})
	}
	prepared := 0
	prepare := func(context.Context) error { prepared++; return failing }
	place(tools.Ready, tools.Foreign{Connect: prepare})
	if got := b.run(t, t.Context(), "mcp__maps__place", `{}`); !strings.Contains(got, "the user cannot be asked") || prepared != 0 {
		t.Errorf("%s, prepared %d times", got, prepared)
	}
	failing = &tools.Fault{Fact: "the server maps does not answer", Next: "Do without it."}
	place(tools.Failed, tools.Foreign{Connect: prepare})
	if got := b.run(t, t.Context(), "mcp__maps__place", `{}`); got != "failed: mcp__maps__place: failed: the server maps does not answer. Do without it." {
		t.Error(got)
	}
	other, err := tools.BuildForeign(tools.Foreign{Server: "maps", Name: "mcp__maps__place", InputSchema: json.RawMessage(`{"type":"object"}`),
		Check: func(*tools.Env, json.RawMessage) *policy.Decision {
			return &policy.Decision{Behavior: policy.Deny, Reason: "it has changed", Next: "look"}
		}})
	if err != nil {
		t.Fatal(err)
	}
	place(tools.Idle, tools.Foreign{Connect: func(context.Context) error {
		b.Registry.SetServers([]tools.Server{{Name: "maps", State: tools.Ready, Tools: []*tools.Tool{other}}})
		return nil
	}})
	if got := b.run(t, t.Context(), "mcp__maps__place", `{}`); got != "failed: mcp__maps__place: refused by policy: it has changed. Look." {
		t.Error(got)
	}
	place(tools.Idle, tools.Foreign{Connect: func(context.Context) error { b.Registry.SetServers(nil); return nil }})
	if got := b.run(t, t.Context(), "mcp__maps__place", `{}`); got != "failed: mcp__maps__place: failed: the server maps no longer has this tool. Use another tool." {
		t.Error(got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	place(tools.Idle, tools.Foreign{Connect: func(context.Context) error { cancel(); return errors.New("cut") }})
	if got := b.run(t, ctx, "mcp__maps__place", `{}`); got != "failed: mcp__maps__place: cancelled: the call was cancelled" {
		t.Error(got)
	}
}

// TestStepAside checks that, while an upstream server is connecting, later
// calls of other tools run, even unsafe ones. Calls of the same server run in
// order of arrival.
func TestStepAside(t *testing.T) {
	begun, held := make(chan struct{}, 10), make(chan struct{})
	var b *bench
	var mu sync.Mutex
	var ran []string
	b = wrapping(t, "", tools.Foreign{
		Connect: func(context.Context) error {
			begun <- struct{}{}
			<-held
			return nil
		},
		Call: func(_ context.Context, _ *tools.Env, raw json.RawMessage) (*tools.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, string(raw))
			return &tools.Response{}, nil
		},
	})
	servers := b.Registry.Catalogue().Servers()
	b.Registry.SetServers([]tools.Server{{Name: "maps", Prefix: "maps", Tools: servers[0].Tools}})
	const calls = 6
	var wg sync.WaitGroup
	for i := range calls {
		r := b.request("mcp__maps__place", fmt.Sprintf(`{"n":%d}`, i))
		wg.Go(func() {
			if resp, err := b.Run(t.Context(), r); err != nil || resp.Failed {
				t.Errorf("call %d: %+v, %v", i, resp, err)
			}
		})
	}
	for range calls {
		<-begun
	}
	for _, tool := range []string{"Look", "Do"} {
		if got := b.run(t, t.Context(), tool, `{"do":"say","arg":"done"}`); got != "done" {
			t.Error(got)
		}
	}
	close(held)
	wg.Wait()
	if got := strings.Join(ran, ""); got != `{"n":0}{"n":1}{"n":2}{"n":3}{"n":4}{"n":5}` {
		t.Errorf("ran in the order %s", got)
	}
	if len(b.aside.of) != 0 {
		t.Errorf("%d wait still", len(b.aside.of))
	}
}
