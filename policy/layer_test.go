package policy

import (
	"fmt"
	"testing"
)

// TestOwn checks the tool's own decision in combination with rules.
func TestOwn(t *testing.T) {
	for _, c := range []struct {
		list, own string // the list with a rule on the call, and the tool's own decision
		want      string
	}{
		{"", "", "allow default"},
		{"", "allow", "allow default"},
		{"", "ask", "ask tool"},
		{"", "deny", "deny tool"},
		{"allow", "", "allow rule"},
		{"allow", "ask", "allow rule"}, // the user has allowed it by a rule
		{"allow", "deny", "deny tool"},
		{"ask", "allow", "ask rule"},
		{"ask", "ask", "ask rule"},
		{"ask", "deny", "deny tool"},
		{"deny", "allow", "deny rule"},
		{"deny", "ask", "deny rule"},
	} {
		var rules []entry
		if c.list != "" {
			rules = []entry{{c.list, "Bash"}}
		}
		r := Request{Tool: "Bash", Dir: "/ws"}
		if c.own != "" {
			r.Own = &Decision{Behavior: named(c.own), Layer: "made up", Reason: "tool"}
		}
		got := New(world(ruleset(rules...))).Decide(r)
		if have := fmt.Sprintf("%s %s", got.Behavior, got.Layer); have != c.want {
			t.Errorf("%s rule, own %q: %s, want %s", c.list, c.own, have, c.want)
		}
		if r.Own != nil && r.Own.Layer != "made up" {
			t.Errorf("%s rule, own %q: the tool's decision was changed", c.list, c.own)
		}
	}
}

func named(behavior string) Behavior {
	for _, b := range []Behavior{Ask, Allow} {
		if b.String() == behavior {
			return b
		}
	}
	return Deny
}

// TestMatchKnowsBehavior checks that a matcher receives the behavior of the rule, so
// that a deny or ask rule can cover more than an allow rule.
func TestMatchKnowsBehavior(t *testing.T) {
	for list, want := range map[string]string{"deny": "deny rule", "ask": "ask rule", "allow": "allow default"} {
		p := New(world(ruleset(entry{list, "Bash(rm)"})))
		d := p.Decide(Request{Tool: "Bash", Dir: "/ws", Match: func(b Behavior, pattern string) bool {
			if b.String() != list || pattern != "rm" {
				t.Errorf("the %s rule is matched as %s(%s)", list, b, pattern)
			}
			return b != Allow
		}})
		if have := fmt.Sprintf("%s %s", d.Behavior, d.Layer); have != want {
			t.Errorf("%s: %s, want %s", list, have, want)
		}
	}
}

// TestOwnRule checks that nothing lifts an ask that the tool bases on a rule.
func TestOwnRule(t *testing.T) {
	for _, mode := range []Mode{ModeDefault, ModeAcceptEdits, ModeBypass} {
		cfg := world(ruleset(entry{"allow", "ReadMcpResource"}))
		cfg.Mode = mode
		got := New(cfg).Decide(Request{
			Tool: "ReadMcpResource", Dir: "/ws", ReadOnly: true, Always: true, Hook: &ExternalDecision{Behavior: Allow},
			Own: &Decision{Behavior: Ask, Layer: LayerRule, Reason: "the ask rule mcp__srv"},
		})
		if got.Behavior != Ask || got.Layer != LayerRule || got.Open {
			t.Errorf("%s: %+v", mode, got)
		}
	}
}
