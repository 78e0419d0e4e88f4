package policy

import "testing"

// TestPlanned checks that plan mode makes no decision laxer, in any mode, and that only the
// user decides on a call that asks for that.
func TestPlanned(t *testing.T) {
	rank := map[Behavior]int{Deny: 0, Ask: 1, Allow: 2}
	plan := Request{Tool: "ExitPlanMode", ReadOnly: true, Own: &Decision{Behavior: Ask, Layer: LayerUser, Reason: "x"}, Always: true, Hook: &ExternalDecision{Behavior: Allow}}
	for _, mode := range Modes {
		p := New(Config{Mode: Mode(mode), Roots: []string{"/ws"}})
		for name, r := range map[string]Request{
			"a read":         {Tool: "Read", ReadOnly: true, Target: &Target{Literal: "/ws/a", Canonical: "/ws/a", Access: Read}},
			"a read outside": {Tool: "Read", ReadOnly: true, Target: &Target{Literal: "/etc/passwd", Canonical: "/etc/passwd", Access: Read}},
			"a change":       {Tool: "Write", Target: &Target{Literal: "/ws/a", Canonical: "/ws/a", Access: Edit}},
		} {
			before, now := p.Decide(r), p.Planned().Decide(r)
			if rank[now.Behavior] > rank[before.Behavior] || !r.ReadOnly && now.Behavior != Deny {
				t.Errorf("%s, %s: %v, in plan mode %v", mode, name, before.Behavior, now.Behavior)
			}
		}
		if d := p.Planned().Decide(plan); d.Behavior != Ask || d.Layer != LayerUser || d.Open {
			t.Errorf("%s, a plan: %+v", mode, d)
		}
	}
}
