package policy

import "testing"

// TestCovered checks when a command that destroys files is allowed because they can be restored.
func TestCovered(t *testing.T) {
	risky := func(covered bool, parts ...Part) *Parts { return &Parts{List: parts, Covered: covered} }
	reset := Part{Text: "git reset --hard", Name: "git reset --hard", Allowable: true, Risk: "changes are lost", Destroys: true}
	push := Part{Text: "git push -f", Name: "git push -f", Allowable: true, Risk: "it overwrites branches"}
	for name, tc := range map[string]struct {
		mode        Mode
		destructive bool
		parts       *Parts
		deny        string
		allows      bool // AllowsCovered
		want        Behavior
	}{
		"acceptEdits":             {ModeAcceptEdits, false, risky(true, reset), "", true, Allow},
		"not covered":             {ModeAcceptEdits, false, risky(false, reset), "", true, Ask},
		"another risk":            {ModeAcceptEdits, false, risky(true, reset, push), "", true, Ask},
		"default":                 {ModeDefault, false, risky(false, reset), "", false, Ask},
		"the setting":             {ModeDefault, true, risky(true, reset), "", true, Allow},
		"the setting and dontAsk": {ModeDontAsk, true, risky(true, reset), "", true, Allow},
		"manual":                  {ModeManual, true, risky(true, reset), "", false, Ask},
		"plan":                    {ModePlan, true, risky(true, reset), "", true, Deny},
		"bypass":                  {ModeBypass, false, risky(false, reset), "", false, Allow},
		"a deny rule":             {ModeAcceptEdits, true, risky(true, reset), "Bash(git reset *)", true, Deny},
		"not all commands known":  {ModeAcceptEdits, true, &Parts{List: []Part{reset}, Covered: true, Unresolved: "x"}, "", true, Ask},
	} {
		cfg := Config{Mode: tc.mode, Destructive: tc.destructive, Roots: []string{"/r"}}
		if tc.deny != "" {
			cfg.Rules.Add(Deny, tc.deny, Origin{}, "/r")
		}
		p := New(cfg)
		d := p.Decide(Request{Tool: "Bash", Dir: "/r", Parts: tc.parts})
		if d.Behavior != tc.want || p.AllowsCovered() != tc.allows {
			t.Errorf("%s: %+v, %v", name, d, p.AllowsCovered())
		}
		if d.Checkpoint != (d.Behavior == Allow && tc.parts.Covered) {
			t.Errorf("%s: Checkpoint is %v", name, d.Checkpoint)
		}
	}
}
