package policy

import (
	"fmt"
	"strings"
	"testing"
)

// voice is a source of a decision.
type voice struct {
	name string
	kind string // two voices of the same kind exclude each other
	say  func(*speech)
	want string
}

// speech is a call of Bash with everything that influences the decision.
type speech struct {
	rules []entry
	mode  Mode
	r     Request
}

func (s *speech) decide(t testing.TB) Decision {
	cfg := world(ruleset(s.rules...))
	cfg.Mode = s.mode
	return New(cfg).Decide(s.r)
}

// voices lists all voices. The first one that applies decides.
var voices = []voice{
	{"deny rule", "", func(s *speech) { s.rules = append(s.rules, entry{"deny", "Bash(x:*)"}) }, "deny rule"},
	{"closed folder", "target", func(s *speech) { s.target("/state/k", Read) }, "deny path"},
	{"the tool's no", "own", func(s *speech) { s.r.Own = &Decision{Reason: "no", Next: "yes"} }, "deny tool"},
	{"declined", "", func(s *speech) { s.r.Declined = true }, "deny approval"},
	{"hook deny", "hook", func(s *speech) { s.r.Hook = &ExternalDecision{Behavior: Deny} }, "deny hook"},
	{"plan", "mode", func(s *speech) { s.mode = ModePlan }, "deny mode"},
	{"ask rule", "", func(s *speech) { s.rules = append(s.rules, entry{"ask", "Bash(x)"}) }, "ask rule"},
	{"hook ask", "hook", func(s *speech) { s.r.Hook = &ExternalDecision{Behavior: Ask} }, "ask hook"},
	{"unknown part", "", func(s *speech) { s.r.Parts.Unresolved = "it cannot be parsed" }, "ask default"},
	{"hook allow", "hook", func(s *speech) { s.r.Hook = &ExternalDecision{Behavior: Allow} }, "allow hook"},
	{"allow rule", "", func(s *speech) { s.rules = append(s.rules, entry{"allow", "Bash"}) }, "allow rule"},
	{"always", "", func(s *speech) { s.r.Always = true }, "allow approval"},
	{"acceptEdits", "mode", func(s *speech) {
		s.mode, s.r.Parts.Edits = ModeAcceptEdits, true
		s.target("/ws/a", Edit)
	}, "allow mode"},
	{"risk", "", func(s *speech) { s.r.Parts.List[0].Risk = "it destroys" }, "ask default"},
	{"the tool's doubt", "own", func(s *speech) { s.r.Own = &Decision{Behavior: Ask, Reason: "perhaps", Next: "ask"} }, "ask tool"},
	{"read-only", "reading", func(s *speech) { s.r.ReadOnly = true }, "allow read-only"},
	{"nothing", "", func(*speech) {}, "allow default"},
}

func (s *speech) target(path string, a Access) {
	s.r.Parts.Targets = append(s.r.Parts.Targets, Target{Literal: path, Canonical: path, Access: a})
}

func newSpeech(said ...voice) *speech {
	s := &speech{r: Request{Tool: "Bash", Dir: "/ws", Parts: &Parts{List: []Part{{Text: "x", Name: "x", Allowable: true}}}}}
	for _, v := range said {
		v.say(s)
	}
	return s
}

// TestOrder checks that, of any two voices that apply, the first decides, whatever a
// third one after them says.
func TestOrder(t *testing.T) {
	n := 0
	for i, first := range voices {
		for j := i; j < len(voices); j++ {
			for k := j; k < len(voices); k++ {
				second, third := voices[j], voices[k]
				if clash(first, second) || clash(first, third) || clash(second, third) ||
					first.name == "plan" && (second.kind == "reading" || third.kind == "reading") { // plan mode does not object to reading
					continue
				}
				n++
				d := newSpeech(first, second, third).decide(t)
				if have := fmt.Sprintf("%s %s", d.Behavior, d.Layer); have != first.want {
					t.Errorf("%s, %s, %s: %s (%s), want %s", first.name, second.name, third.name, have, d.Reason, first.want)
				}
			}
		}
	}
	if n < 500 {
		t.Errorf("only %d orders", n)
	}
}

// clash reports whether two voices exclude each other.
func clash(a, b voice) bool { return a.name != b.name && a.kind != "" && a.kind == b.kind }

// TestModes checks the decision of each mode on each voice.
func TestModes(t *testing.T) {
	want := map[Mode]string{
		ModeDefault:     "ask default|ask tool|allow read-only|allow default",
		ModeAcceptEdits: "ask default|ask tool|allow read-only|allow default",
		ModeManual:      "ask default|ask tool|allow read-only|ask mode",
		ModePlan:        "deny mode|deny mode|allow read-only|deny mode",
		ModeDontAsk:     "deny mode|deny mode|allow read-only|allow default",
		ModeBypass:      "allow mode|allow mode|allow read-only|allow default",
	}
	for mode, all := range want {
		wants := strings.Split(all, "|")
		for i, v := range voices[len(voices)-4:] {
			s := newSpeech(v)
			s.mode = mode
			d := s.decide(t)
			if have := fmt.Sprintf("%s %s", d.Behavior, d.Layer); have != wants[i] {
				t.Errorf("%s, %s: %s, want %s", mode, v.name, have, wants[i])
			}
			if d.Open != (d.Behavior == Ask || mode == ModeDontAsk && d.Behavior == Deny) {
				t.Errorf("%s, %s: open is %v", mode, v.name, d.Open)
			}
		}
		for _, v := range voices[:5] { // no mode lifts a deny
			s := newSpeech(v)
			if s.mode = mode; s.decide(t).Behavior != Deny {
				t.Errorf("%s lifts %s", mode, v.name)
			}
		}
		for _, v := range voices[6:8] { // nor an ask of a rule or hook
			s := newSpeech(v)
			if s.mode = mode; s.decide(t).Behavior == Allow {
				t.Errorf("%s lifts %s", mode, v.name)
			}
			if s.mode == ModeDontAsk && !strings.HasSuffix(s.decide(t).Reason, "; the mode dontAsk denies what would be asked about") {
				t.Errorf("%s: %s", v.name, s.decide(t).Reason)
			}
		}
	}
}

// TestUnknownParts checks that the user is asked about unknown parts if a rule may
// cover them, whatever allows the call.
func TestUnknownParts(t *testing.T) {
	unresolved := func(p *Parts) { p.Unresolved = "it cannot be parsed" }
	harmless := func(p *Parts) { p.Unresolved, p.Harmless = "it cannot be parsed", true }
	sure := func(p *Parts) { p.List[0] = Part{Text: "git $X", Name: "git $X", KnownPrefix: "git "} }
	path := func(p *Parts) { p.List[0] = Part{Text: "/bin/git $X", Name: "git $X", KnownPrefix: "/bin/git "} }
	blind := func(p *Parts) { p.List[0].UnknownWrites = true }
	for _, c := range []struct {
		name  string
		parts func(*Parts)
		rule  entry
		asked string // the modes, of default and bypassPermissions, in which the user is asked
	}{
		{"unresolved", unresolved, entry{}, "default"},
		{"unresolved", unresolved, entry{"deny", "Bash(curl:*)"}, "default bypassPermissions"},
		{"unresolved", unresolved, entry{"ask", "Bash(curl:*)"}, "default bypassPermissions"},
		{"unresolved", unresolved, entry{"deny", "BashReadOnly(curl:*)"}, "default bypassPermissions"},
		{"unresolved", unresolved, entry{"deny", "Read(x)"}, "default"},
		{"harmless", harmless, entry{}, ""},
		{"harmless", harmless, entry{"deny", "Bash(curl:*)"}, "default bypassPermissions"},
		{"harmless", harmless, entry{"ask", "Bash(curl:*)"}, "default bypassPermissions"},
		{"sure", sure, entry{}, ""},
		{"sure", sure, entry{"deny", "Bash(git push:*)"}, "default bypassPermissions"},
		{"sure", sure, entry{"ask", "Bash(git push)"}, "default bypassPermissions"},
		{"sure", sure, entry{"ask", "Shell(git push)"}, "default bypassPermissions"},
		{"sure", sure, entry{"deny", "Bash(npm:*)"}, ""},
		{"sure", sure, entry{"deny", "Bash(* --force)"}, "default bypassPermissions"},
		{"sure", sure, entry{"allow", "Bash(git push:*)"}, ""},
		{"path", path, entry{"deny", "Bash(git push:*)"}, "default bypassPermissions"},
		{"path", path, entry{"deny", "Bash(/bin/git push:*)"}, "default bypassPermissions"},
		{"path", path, entry{"deny", "Bash(bin/git push:*)"}, ""},
		{"blind", blind, entry{}, ""},
		{"blind", blind, entry{"deny", "Edit(x)"}, "default bypassPermissions"},
		{"blind", blind, entry{"ask", "Edit(x)"}, "default bypassPermissions"},
		{"blind", blind, entry{"deny", "Read(x)"}, ""},
		{"blind", blind, entry{"allow", "Edit(x)"}, ""},
	} {
		for _, mode := range []Mode{ModeDefault, ModeBypass} {
			s := newSpeech()
			s.mode, s.rules = mode, []entry{{"allow", "Bash"}}
			if c.rule.list != "" {
				s.rules = append(s.rules, c.rule)
			}
			s.r.Aliases = []string{"Shell", "BashReadOnly"}
			s.r.Hook, s.r.Always = &ExternalDecision{Behavior: Allow}, true
			c.parts(s.r.Parts)
			d := s.decide(t)
			want := Allow
			if strings.Contains(c.asked, string(mode)) {
				want = Ask
			}
			if d.Behavior != want || want == Ask && (d.Layer != LayerDefault || d.Open || d.Next == "") {
				t.Errorf("%s, %s, %v: %+v", c.name, mode, c.rule, d)
			}
		}
	}
}

// TestPartsAlone checks that a target and a matcher are ignored if there are parts.
func TestPartsAlone(t *testing.T) {
	for _, target := range []Target{{}, {Literal: "/etc/x", Canonical: "/etc/x", Access: Edit}, {Literal: "/ws/.env", Canonical: "/ws/.env", Access: Read}, {Literal: "/state/k", Canonical: "/state/k", Access: Edit}} {
		s := newSpeech()
		s.rules = []entry{{"deny", "Read"}, {"deny", "Read(.env)"}, {"ask", "Bash(z)"}}
		s.r.Target, s.r.Match = &target, func(Behavior, string) bool { return true }
		if d := s.decide(t); d.Behavior != Allow {
			t.Errorf("%+v: %+v", target, d)
		}
	}
}

// TestClassified checks that a classifier decides open calls and no others.
func TestClassified(t *testing.T) {
	open := newSpeech(voices[13]).decide(t)
	for _, c := range []struct {
		d    Decision
		o    *ExternalDecision
		want string
	}{
		{open, nil, "ask default"},
		{open, &ExternalDecision{Behavior: Allow}, "allow classifier"},
		{open, &ExternalDecision{Behavior: Deny, Reason: "bad"}, "deny classifier"},
		{open, &ExternalDecision{Behavior: Ask}, "ask classifier"},
		{newSpeech(voices[6]).decide(t), &ExternalDecision{Behavior: Allow}, "ask rule"},
		{newSpeech(voices[8]).decide(t), &ExternalDecision{Behavior: Allow}, "ask default"},
		{newSpeech(voices[0]).decide(t), &ExternalDecision{Behavior: Allow}, "deny rule"},
		{newSpeech(voices[10]).decide(t), &ExternalDecision{Behavior: Deny}, "allow rule"},
	} {
		d := c.d.Classified(c.o)
		if have := fmt.Sprintf("%s %s", d.Behavior, d.Layer); have != c.want || d.Reason == "" || (d.Next == "") != (d.Behavior == Allow) {
			t.Errorf("%+v, %+v: %+v, want %s", c.d, c.o, d, c.want)
		}
	}
}
