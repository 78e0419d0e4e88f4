package policy

import (
	"fmt"
	"testing"
)

// TestWith: the tool's opinion beside what the policy decides.
func TestWith(t *testing.T) {
	for _, c := range []struct {
		decided, own string
		want         string
	}{
		{"allow default", "", "allow default policy"},
		{"allow default", "allow", "allow default policy"},
		{"allow default", "ask", "ask tool tool"},
		{"allow default", "deny", "deny tool tool"},
		{"allow rule", "", "allow rule policy"},
		{"allow rule", "allow", "allow rule policy"},
		{"allow rule", "ask", "allow rule policy"}, // a person has agreed
		{"allow rule", "deny", "deny tool tool"},
		{"ask rule", "allow", "ask rule policy"},
		{"ask rule", "ask", "ask rule policy"},
		{"ask rule", "deny", "deny tool tool"},
		{"deny rule", "allow", "deny rule policy"},
		{"deny rule", "ask", "deny rule policy"},
		{"deny path", "deny", "deny path policy"},
	} {
		var behavior, layer string
		fmt.Sscan(c.decided, &behavior, &layer)
		d := Decision{Behavior: named(behavior), Layer: layer, Reason: "policy"}
		var own *Decision
		if c.own != "" {
			own = &Decision{Behavior: named(c.own), Layer: "made up", Reason: "tool"}
		}
		got := d.With(own)
		if have := fmt.Sprintf("%s %s %s", got.Behavior, got.Layer, got.Reason); have != c.want {
			t.Errorf("%s with %q: %s, want %s", c.decided, c.own, have, c.want)
		}
		if own != nil && own.Layer != "made up" {
			t.Errorf("%s with %q: the tool's decision was changed", c.decided, c.own)
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

// TestMatchKnowsBehavior: a matcher is told what the rule does, so that a rule
// that denies or asks can cover more than one that allows.
func TestMatchKnowsBehavior(t *testing.T) {
	for list, want := range map[string]string{"deny": "deny rule", "ask": "ask rule", "allow": "allow default"} {
		p := New(world(settings(t, entry{list, "Bash(rm)"})))
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
