package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// foreign returns a call of an upstream tool. Its matcher is that of all such tools: a
// pattern may mean any call.
func foreign(own *Decision) Request {
	return Request{
		Tool: "mcp__srv__my_tool", Aliases: []string{"mcp__srv__my.tool"}, Dir: "/ws", Own: own,
		Match: func(b Behavior, _ string) bool { return b != Allow },
	}
}

// TestForeignRules checks the effect of a rule on an upstream tool, for a tool without
// a decision of its own and for one that asks.
func TestForeignRules(t *testing.T) {
	doubt := &Decision{Behavior: Ask, Reason: "it may destroy something", Next: "ask the user to add a rule"}
	for _, c := range []struct {
		rule    string
		mode    Mode
		always  bool
		want    string // decision if the tool has none of its own
		doubted string // decision if the tool asks
	}{
		{rule: "", want: "allow default", doubted: "ask tool"},
		{rule: "allow mcp__srv", want: "allow rule", doubted: "allow rule"},
		{rule: "allow mcp__srv__*", want: "allow rule", doubted: "allow rule"},
		{rule: "allow mcp__srv__my_tool", want: "allow rule", doubted: "allow rule"},
		{rule: "allow mcp__srv__my_tool(*)", want: "allow rule", doubted: "allow rule"},
		{rule: "allow mcp__srv__my.tool", want: "allow rule", doubted: "allow rule"},
		{rule: "allow mcp__srv__my_tool(x)", want: "allow default", doubted: "ask tool"},
		{rule: "allow mcp__srv__my.tool(x)", want: "allow default", doubted: "ask tool"},
		{rule: "allow mcp__other", want: "allow default", doubted: "ask tool"},
		{rule: "allow mcp__sr", want: "allow default", doubted: "ask tool"},
		{rule: "ask mcp__srv", want: "ask rule", doubted: "ask rule"},
		{rule: "ask mcp__srv__my_tool(x)", want: "ask rule", doubted: "ask rule"},
		{rule: "ask mcp__srv", mode: ModeBypass, always: true, want: "ask rule", doubted: "ask rule"},
		{rule: "deny mcp__srv", mode: ModeBypass, always: true, want: "deny rule", doubted: "deny rule"},
		{rule: "deny mcp__srv__my_tool(x)", want: "deny rule", doubted: "deny rule"},
		{rule: "deny mcp__srv__my.tool(x)", want: "deny rule", doubted: "deny rule"},
		{mode: ModeBypass, want: "allow default", doubted: "allow mode"},
		{mode: ModeAcceptEdits, want: "allow default", doubted: "ask tool"},
		{mode: ModeDontAsk, want: "allow default", doubted: "deny mode"},
		{mode: ModePlan, want: "deny mode", doubted: "deny mode"},
		{rule: "allow mcp__srv", mode: ModePlan, always: true, want: "deny mode", doubted: "deny mode"},
		{always: true, want: "allow approval", doubted: "allow approval"},
		{always: true, mode: ModeDontAsk, want: "allow approval", doubted: "allow approval"},
	} {
		var rules Rules
		if list, rule, ok := strings.Cut(c.rule, " "); ok {
			rules = ruleset(entry{list, rule})
		}
		cfg := world(rules)
		cfg.Mode = c.mode
		for own, want := range map[*Decision]string{nil: c.want, doubt: c.doubted} {
			r := foreign(own)
			r.Always = c.always
			d := New(cfg).Decide(r)
			if have := fmt.Sprintf("%s %s", d.Behavior, d.Layer); have != want || d.Reason == "" {
				t.Errorf("%q in %q, always %v, asked %v: %s (%s), want %s", c.rule, c.mode, c.always, own != nil, have, d.Reason, want)
			}
			if want == "ask tool" && (d.Reason != doubt.Reason || d.Next != doubt.Next || !d.Open) {
				t.Errorf("%q: %+v", c.rule, d)
			}
		}
	}
}

// TestForeignDeniedTool checks that only a rule on all calls removes a tool.
func TestForeignDeniedTool(t *testing.T) {
	for rule, want := range map[string]bool{
		"mcp__srv": true, "mcp__srv__*": true, "mcp__*": true, "mcp__s*": true, "mcp__srv__my_tool": true, "mcp__srv__my.tool": true, "mcp__srv__my_tool(*)": true,
		"mcp__srv__my_tool(x)": false, "mcp__srv(x)": false, "mcp__sr": false, "mcp__srv__my": false, "mcp__srv__": false,
	} {
		p, r := New(world(ruleset(entry{"deny", rule}))), foreign(nil)
		if got, _, denied := p.DeniedTool(r.Tool, r.Aliases); denied != want || denied && got != rule {
			t.Errorf("%s: %v by %q", rule, denied, got)
		}
	}
}

// TestServersOfRules checks the warning about a rule on a server that does not exist.
// There is none if the servers are unknown.
func TestServersOfRules(t *testing.T) {
	rules := ruleset(entry{"deny", "mcp__github"}, entry{"deny", "mcp__my.srv__x"}, entry{"deny", "mcp__gone__x"}, entry{"deny", "mcp__*"}, entry{"deny", "mcp__x*"},
		entry{"deny", "mcp__"}, entry{"deny", "Bash"}, entry{"ask", "mcp__gi.thub__*"}, entry{"allow", "mcp__web__get(x)"}, entry{"allow", "mcp__a___b"})
	cfg := Config{Rules: rules, KnownServers: []string{"github", "my_srv", "web"}}
	got := New(cfg).Warnings()
	want := []string{
		`deny rule mcp__gone__x in /cfg/settings.json:1 has no effect: there is no server gone`,
		`ask rule mcp__gi.thub__* in /cfg/settings.json:1 has no effect: there is no server gi_thub; did you mean github?`,
		`allow rule mcp__a___b in /cfg/settings.json:1 has no effect: there is no server a`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
	if cfg.KnownServers = nil; len(New(cfg).Warnings()) != 0 {
		t.Errorf("nobody knows which servers there are: %q", New(cfg).Warnings())
	}
	if cfg.KnownServers = []string{}; len(New(cfg).Warnings()) != 6 {
		t.Errorf("there are no servers: %q", New(cfg).Warnings())
	}
	alone := ruleset(entry{"allow", "mcp__web__get(x)"}, entry{"allow", "mcp__web__get(*)"}, entry{"ask", "mcp__web__put(x)"})
	want = []string{`allow rule mcp__web__get(x) in /cfg/settings.json:1 has no effect: what a pattern means to a tool of another server is not known here; write mcp__web__get`}
	if diff := cmp.Diff(want, alone.Warnings()); diff != "" {
		t.Errorf("(-want +have):\n%s", diff)
	}
}
