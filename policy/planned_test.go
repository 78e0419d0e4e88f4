package policy

import "testing"

// TestPlanned checks that plan mode makes no decision laxer, in any mode.
func TestPlanned(t *testing.T) {
	rank := map[Behavior]int{Deny: 0, Ask: 1, Allow: 2}
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
	}
}

// TestEditsAccepted checks that the user's choice of acceptEdits allows changes in the
// workspace in the mode default, and changes no other mode.
func TestEditsAccepted(t *testing.T) {
	edit := Request{Tool: "Write", Target: &Target{Literal: "/ws/a", Canonical: "/ws/a", Access: Edit}}
	for _, mode := range Modes {
		p := New(Config{Mode: Mode(mode), Roots: []string{"/ws"}})
		q := p.EditsAccepted()
		if changed := q.Mode() != p.Mode(); changed != (p.Mode() == ModeDefault) {
			t.Errorf("%s becomes %s", p.Mode(), q.Mode())
		}
		if before, now := p.Decide(edit), q.Decide(edit); p.Mode() != ModeDefault && (before.Behavior != now.Behavior || before.Reason != now.Reason) {
			t.Errorf("%s: %+v, then %+v", mode, before, now)
		}
	}
	if d := New(Config{Roots: []string{"/ws"}}).EditsAccepted().Decide(edit); d.Behavior != Allow || d.Layer != LayerMode {
		t.Errorf("a change: %+v", d)
	}
}
