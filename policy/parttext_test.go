package policy

import "testing"

// TestPartTexts checks all texts that a model may see about a decision on a call with
// parts, and about decisions of layers other than rules.
func TestPartTexts(t *testing.T) {
	const file = "/cfg/settings.json"
	risk := func(text string, edit func(*Part)) func(*speech) {
		return func(s *speech) {
			p := &s.r.Parts.List[0]
			*p = Part{Text: text, Name: text, Allowable: true, Risk: "it destroys"}
			if edit != nil {
				edit(p)
			}
		}
	}
	for _, c := range []struct {
		name         string
		say          func(*speech)
		reason, next string
	}{
		{"risk", risk("rm -r d", nil), "rm -r d needs approval: it destroys", "do it another way, or ask the user to add an allow rule such as Bash(rm -r d) to " + file},
		{"a star is not a name", risk("rm -r *.o", nil), "rm -r *.o needs approval: it destroys", "do it another way; the user has to approve this one"},
		{"inner", risk("rm -r d", func(p *Part) { p.Inner = true }), "rm -r d needs approval: it destroys", "do it another way; the user has to approve this one"},
		{"all files", risk("rm -rf /", nil), "rm -rf / needs approval: it destroys", "do it another way; the user has to approve this one"},
		{"not allowable", risk("rm -r d", func(p *Part) { p.Allowable = false }), "rm -r d needs approval: it destroys", "do it another way; the user has to approve this one"},
		{"does not show", risk("rm -r \x1b", nil), `"rm -r \x1b" needs approval: it destroys`, "do it another way; the user has to approve this one"},
		{"unresolved", func(s *speech) { s.r.Parts.Unresolved = "it cannot be parsed" }, "not every command in it is known: it cannot be parsed", "write the commands out, one after the other"},
		{"doubtful", func(s *speech) {
			s.r.Parts.Incomplete = "what the variable X has programs run is not known"
			s.rules = []entry{{"deny", "Bash(curl *)"}}
		}, "not every command in it is known: what the variable X has programs run is not known", "write the commands out, one after the other"},
		{"unnamed", func(s *speech) {
			s.r.Parts.Unnamed = "it has variables"
			s.rules = []entry{{"ask", "Read(x)"}}
		}, "not every file that it opens is known, and there are rules on some: it has variables", "write the paths out, in one command of literal words"},
		{"unnamed without rules", func(s *speech) {
			s.r.Parts.Unnamed, s.r.Parts.List[0].Risk = "it has variables", "it destroys"
			s.rules = []entry{{"deny", "Bash(curl *)"}}
		}, "x needs approval: it destroys", "do it another way, or ask the user to add an allow rule such as Bash(x) to " + file},
		{"form", func(s *speech) {
			s.r.Parts.List[0] = Part{Text: "git -C $D $X", Name: "git -C $D $X", KnownPrefix: "git -C ", Forms: []Form{{Text: "git $X", KnownPrefix: "git "}}}
			s.rules = []entry{{"deny", "Bash(git push:*)"}}
		}, "what git -C $D $X does is only known when it runs, and the deny rule Bash(git push:*) may cover it", "write its words out"},
		{"sure", func(s *speech) {
			s.r.Parts.List[0] = Part{Text: "git $X", Name: "git $X", KnownPrefix: "git "}
			s.rules = []entry{{"deny", "Bash(git push:*)"}}
		}, "what git $X does is only known when it runs, and the deny rule Bash(git push:*) may cover it", "write its words out"},
		{"alias", func(s *speech) {
			s.r.Parts.List[0] = Part{Text: "git pushx", Name: "git pushx", Forms: []Form{{Text: "git", KnownPrefix: "git "}}}
			s.rules = []entry{{"deny", "Bash(git push:*)"}}
		}, "git pushx may be an alias, and the deny rule Bash(git push:*) may cover what it stands for", "use the git command itself"},
		{"unknown wrapper", func(s *speech) {
			s.r.Parts.List[0] = Part{Text: "onlooker run curl x", Name: "onlooker run curl x", Possible: []string{"run curl x", "curl x", "x"}}
			s.rules = []entry{{"ask", "Bash(x *)"}, {"deny", "Bash(curl *)"}}
		}, "onlooker run curl x may run curl x, which the deny rule Bash(curl *) covers", "leave that out, or ask the user to do it"},
		{"blind", func(s *speech) {
			s.r.Parts.List[0].UnknownWrites = true
			s.rules = []entry{{"ask", "Edit(x)"}}
		}, "which files x changes is only known when it runs, and there are rules on changing some", "write the paths out"},
		{"outside", func(s *speech) { s.target("/out/a", Edit) }, "/out/a is outside the workspace roots (/ws, /lib)", "use a path inside the roots, or ask the user to add an allow rule such as Edit(//out/a) to " + file},
		{"temporary", func(s *speech) { s.target("/tmp/a", Edit) }, "/tmp/a is outside the workspace roots (/ws, /lib)", "use $TMPDIR for temporary files, or ask the user to add an allow rule such as Edit(//tmp/a) to " + file},
		{"protected", func(s *speech) { s.target("/ws/.git/config", Edit) }, "/ws/.git/config is under the protected name .git, which decides what programs run or trust", "use another file, or ask the user to add an allow rule such as Edit(//ws/.git/config) to " + file},
		{"kernel", func(s *speech) { s.target("/proc/1/x", Read) }, "/proc/1/x is in a folder of the kernel (/proc, /sys, /dev)", "use an ordinary file, or ask the user to add an allow rule such as Read(//proc/1/x) to " + file},
		{"broken", func(s *speech) { s.r.Parts.Targets = []Target{{Literal: "/ws/l"}} }, "where /ws/l leads is not known", "use a path whose folders exist and can be looked into"},
		{"closed", func(s *speech) { s.target("/state/k", Edit) }, "/state/k is in a folder that is closed to all tools", "use a path inside the workspace roots"},
		{"plan", func(s *speech) { s.mode = ModePlan }, "plan mode is on: only read-only calls run, and this call may change something", "explore, then present a plan; the user ends plan mode"},
		{"manual", func(s *speech) { s.mode = ModeManual }, "the mode manual asks about every call that may change something", "ask the user to do it, or to add an allow rule to " + file},
		{"declined", func(s *speech) { s.r.Declined = true }, "the user declined this command", "do not try to do the same another way; continue without it or ask the user what to do"},
		{"hook", func(s *speech) { s.r.Hook = &ExternalDecision{Behavior: Deny, By: "h", Reason: "no"} }, "the hook h decided deny: no", "do what the hook asks for, or ask the user to change the hook"},
		{"nameless hook", func(s *speech) { s.r.Hook = &ExternalDecision{Behavior: Ask} }, "a hook decided ask", "do what the hook asks for, or ask the user to change the hook"},
		{"dontAsk", func(s *speech) { s.mode, s.r.Parts.List[0].Risk = ModeDontAsk, "it destroys" }, "x needs approval: it destroys; the mode dontAsk denies what would be asked about", "do it another way, or ask the user to add an allow rule such as Bash(x) to " + file},
		{"own", func(s *speech) { s.r.Own = &Decision{Behavior: Ask, Reason: "perhaps", Next: "wait"} }, "perhaps", "wait"},
		{"always", func(s *speech) { s.r.Always = true }, "the user always allows exactly this", ""},
		{"bypass", func(s *speech) { s.mode, s.r.Parts.List[0].Risk = ModeBypass, "it destroys" }, "the mode bypassPermissions allows what no rule denies or asks about", ""},
		{"read-only", func(s *speech) { s.r.ReadOnly = true }, "it only reads, and no rule covers it", ""},
		{"acceptEdits", func(s *speech) {
			s.mode, s.r.Parts.Edits = ModeAcceptEdits, true
			s.target("/ws/a", Edit)
		}, "the mode acceptEdits allows changes of files in the workspace", ""},
	} {
		s := newSpeech()
		c.say(s)
		if len(s.rules) == 0 {
			s.rules = []entry{{"allow", "Bash(y)"}} // for the name of the settings file
		}
		d := s.decide(t)
		if d.Reason != c.reason || d.Next != c.next {
			t.Errorf("%s\nwant %s; %s\nhave %s; %s", c.name, c.reason, c.next, d.Reason, d.Next)
		}
		if want := map[bool]string{true: temporary}[c.name == "temporary"]; d.Alternative != want {
			t.Errorf("%s: instead %q, want %q", c.name, d.Alternative, want)
		}
		if err := plainLine(d.Reason + d.Next); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
