package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// marked parses texts into parts. Marks may precede a text: "r" (it only reads), "!"
// (it has a risk), "i" (an earlier part runs it), "x" (no rule may allow it), "s"
// (only the text itself is certain) and "b" (the files it changes are unknown).
func marked(texts ...string) *Parts {
	parts := &Parts{}
	for _, text := range texts {
		marks, text, ok := strings.Cut(text, ": ")
		if !ok {
			marks, text = "", marks
		}
		p := Part{Text: text, Name: text, Allowable: !strings.Contains(marks, "x"), ReadOnly: strings.Contains(marks, "r"), Inner: strings.Contains(marks, "i")}
		if strings.Contains(marks, "!") {
			p.Risk = "it destroys"
		}
		if p.UnknownWrites = strings.Contains(marks, "b"); strings.Contains(marks, "s") {
			p.KnownPrefix = text
		}
		parts.List = append(parts.List, p)
	}
	return parts
}

func TestExplainParts(t *testing.T) {
	rules := []entry{
		{"deny", "Bash(curl *)"}, {"deny", "Shell(wget *)"}, {"ask", "Bash(git push *)"},
		{"allow", "Bash(npm *)"}, {"allow", "Bash(sh -c *)"}, {"allow", "Bash(rm *)"},
	}
	const (
		unknown  = "not every command in it is known: a variable"
		none     = "no rule covers it, and no risk of it is known"
		risk     = "rm -r x needs approval: it destroys"
		covered  = "an allow rule covers the call"
		dontAsk  = "; the mode dontAsk denies what would be asked about"
		planned  = "plan mode is on: only read-only calls run, and this call may change something"
		manual   = "the mode manual asks about every call that may change something"
		accepted = "the mode acceptEdits allows changes of files in the workspace"
		bypass   = "the mode bypassPermissions allows what no rule denies or asks about"
	)
	unresolved := func(p *Parts) *Parts { p.Unresolved = "a variable"; return p }
	edits := func(p *Parts) *Parts {
		p.Edits, p.Targets = true, []Target{{Literal: "/ws/x", Canonical: "/ws/x", Access: Edit}}
		return p
	}
	for name, c := range map[string]struct {
		mode     Mode
		readOnly bool // for the call, not for its parts
		parts    *Parts
		rules    []entry // replaces rules
		want     []string
	}{
		"rules": {parts: marked("npm test", "curl x", "wget x", "git push o"), want: []string{
			"npm test: allow rule Bash(npm *) /cfg/settings.json:1: " + covered,
			"curl x: deny rule Bash(curl *) /cfg/settings.json:1: the deny rule Bash(curl *) covers this call",
			"wget x: deny rule Shell(wget *) /cfg/settings.json:1: the deny rule Shell(wget *) covers this call",
			"git push o: ask rule Bash(git push *) /cfg/settings.json:1: the ask rule Bash(git push *) covers this call",
		}},
		"without rules": {parts: marked("r: ls", "make"), want: []string{"ls: allow read-only: it only reads", "make: allow default: " + none}},
		"a risk":        {parts: marked("!: rm -r x", "make"), want: []string{"rm -r x: ask default: " + risk, "make: allow default: " + none}},
		"a risk that rules lift": {parts: marked("!: rm -r x", "r: ls", "npm test"), want: []string{
			"rm -r x: allow rule Bash(rm *) /cfg/settings.json:1: " + covered, "ls: allow read-only: it only reads",
			"npm test: allow rule Bash(npm *) /cfg/settings.json:1: " + covered}},
		"what runs another": {parts: marked("sh -c make", "i: make", "i: curl x", "i: npm x"), want: []string{
			"sh -c make: allow rule Bash(sh -c *) /cfg/settings.json:1: " + covered, "make: allow rule Bash(sh -c *) /cfg/settings.json:1: " + covered,
			"curl x: deny rule Bash(curl *) /cfg/settings.json:1: the deny rule Bash(curl *) covers this call",
			"npm x: allow rule Bash(npm *) /cfg/settings.json:1: " + covered}},
		"what runs another, behind one": {parts: marked("npm test", "sh -c make", "i: make"), want: []string{
			"npm test: allow rule Bash(npm *) /cfg/settings.json:1: " + covered,
			"sh -c make: allow rule Bash(sh -c *) /cfg/settings.json:1: " + covered, "make: allow rule Bash(sh -c *) /cfg/settings.json:1: " + covered}},
		"not allowable": {parts: marked("x: npm test"), want: []string{"npm test: allow default: " + none}},
		"not all known": {parts: unresolved(marked("npm test", "r: ls", "curl x")), want: []string{
			"npm test: ask default: " + unknown, "ls: ask default: " + unknown,
			"curl x: deny rule Bash(curl *) /cfg/settings.json:1: the deny rule Bash(curl *) covers this call"}},
		"the whole tool": {parts: marked("!: rm -r x", "curl x"), rules: []entry{{"allow", "Bash"}, {"deny", "Bash(curl *)"}}, want: []string{
			"rm -r x: allow rule Bash /cfg/settings.json:1: " + covered,
			"curl x: deny rule Bash(curl *) /cfg/settings.json:1: the deny rule Bash(curl *) covers this call"}},
		"a malformed rule": {parts: marked("r: ls"), rules: []entry{{"deny", "Bash(x"}}, want: []string{
			`ls: deny rule Bash(x /cfg/settings.json:1: the deny rule Bash(x is malformed (it opens "(" and does not end in ")"), so it covers every Bash call`}},
		"plan":                     {mode: ModePlan, parts: marked("r: ls", "npm test"), want: []string{"ls: allow read-only: it only reads", "npm test: deny mode: " + planned}},
		"manual":                   {mode: ModeManual, parts: marked("r: ls", "!: rm -r x", "make"), rules: []entry{}, want: []string{"ls: allow read-only: it only reads", "rm -r x: ask default: " + risk, "make: ask mode: " + manual}},
		"manual and a rule":        {mode: ModeManual, parts: marked("make", "npm test"), want: []string{"make: ask mode: " + manual, "npm test: allow rule Bash(npm *) /cfg/settings.json:1: " + covered}},
		"dontAsk":                  {mode: ModeDontAsk, parts: marked("!: rm -r x", "make"), want: []string{"rm -r x: deny mode: " + risk + dontAsk, "make: allow default: " + none}},
		"acceptEdits":              {mode: ModeAcceptEdits, parts: edits(marked("!: rm -r x", "make")), rules: []entry{}, want: []string{"rm -r x: allow mode: " + accepted, "make: allow mode: " + accepted}},
		"acceptEdits and a rule":   {mode: ModeAcceptEdits, parts: edits(marked("!: rm -r x")), want: []string{"rm -r x: allow rule Bash(rm *) /cfg/settings.json:1: " + covered}},
		"plan, of what only reads": {mode: ModePlan, readOnly: true, parts: marked("make"), want: []string{"make: allow default: " + none}},
		"acceptEdits not":          {mode: ModeAcceptEdits, parts: marked("!: rm -r x"), rules: []entry{}, want: []string{"rm -r x: ask default: " + risk}},
		"bypass":                   {mode: ModeBypass, parts: unresolved(marked("!: rm -r x", "make")), rules: []entry{{"allow", "Bash(x)"}}, want: []string{"rm -r x: allow mode: " + bypass, "make: allow default: " + none}},
		"bypass and a rule":        {mode: ModeBypass, parts: unresolved(marked("!: rm -r x", "git push o")), rules: []entry{{"ask", "Bash(git *)"}}, want: []string{"rm -r x: ask default: " + unknown, "git push o: ask rule Bash(git *) /cfg/settings.json:1: the ask rule Bash(git *) covers this call"}},
		"half known": {parts: marked("s: curl", "s: make", "npm test"), want: []string{
			"curl: deny rule Bash(curl *) /cfg/settings.json:1: the deny rule Bash(curl *) covers this call", "make: allow default: " + none,
			"npm test: allow rule Bash(npm *) /cfg/settings.json:1: " + covered}},
		"half known, perhaps covered": {parts: marked("s: git", "npm test"), want: []string{
			"git: ask default: what git does is only known when it runs, and the ask rule Bash(git push *) may cover it",
			"npm test: allow rule Bash(npm *) /cfg/settings.json:1: " + covered}},
		"blind": {parts: marked("b: make", "npm test"), rules: []entry{{"deny", "Edit(x)"}, {"allow", "Bash(npm *)"}}, want: []string{
			"make: ask default: which files make changes is only known when it runs, and there are rules on changing some",
			"npm test: allow rule Bash(npm *) /cfg/settings.json:1: " + covered}},
	} {
		if c.rules == nil {
			c.rules = rules
		}
		cfg := world(ruleset(c.rules...))
		cfg.Mode = c.mode
		var got []string
		for _, d := range New(cfg).ExplainParts(Request{Tool: "Bash", Aliases: former["Bash"], Dir: "/ws", Parts: c.parts, ReadOnly: c.readOnly}) {
			rule := ""
			if d.Rule != "" {
				rule = " " + d.Rule + " " + d.Location()
			}
			got = append(got, fmt.Sprintf("%s: %s %s%s: %s", d.Text, d.Behavior, d.Layer, rule, d.Reason))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +have):\n%s", name, diff)
		}
	}
	if got := New(Config{}).ExplainParts(Request{Tool: "Bash"}); got != nil {
		t.Errorf("a call without parts has %v", got)
	}
}

// TestExplainPartsAgrees makes calls of random commands, rules and modes. The
// decisions on the parts must agree with the decision on the call, because nothing but
// the parts matters in these calls.
func TestExplainPartsAgrees(t *testing.T) {
	const calls = 20_000
	random := rand.New(rand.NewPCG(3, 4))
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	programs, patterns := []string{"a", "b", "b c", "c d", "d"}, []string{"", "(*)", "(a)", "(b)", "(b *)", "(c *)", "(d", "(a*)", "(*d)"}
	marks := []string{"", "", "r: ", "!: ", "s: ", "rs: ", "b: ", "r!: ", "i: ", "i!: ", "ir: ", "x: ", "x!: "}
	seen := map[string]int{}
	for range calls {
		var rules []entry
		for range random.IntN(4) {
			rules = append(rules, entry{pick([]string{"deny", "ask", "allow", "allow", "allow"}), pick([]string{"Bash", "Bash", "Shell"}) + pick(patterns[random.IntN(2):])})
		}
		if random.IntN(4) == 0 {
			rules = append(rules, entry{"deny", "Edit(//elsewhere)"})
		}
		var texts []string
		for range 1 + random.IntN(4) {
			texts = append(texts, pick(marks)+pick(programs))
		}
		r := Request{Tool: "Bash", Aliases: former["Bash"], Dir: "/ws", Parts: marked(texts...)}
		r.ReadOnly = !slices.ContainsFunc(r.Parts.List, func(p Part) bool { return !p.ReadOnly })
		r.Parts.Harmless = random.IntN(8) == 0
		if random.IntN(6) == 0 {
			r.Parts.Unresolved = "a variable"
		}
		if r.Parts.Edits = random.IntN(4) == 0; r.Parts.Edits && random.IntN(2) == 0 {
			r.Parts.Targets = []Target{{Literal: "/ws/x", Canonical: "/ws/x", Access: Edit}}
		}
		cfg := world(ruleset(rules...))
		cfg.Mode = Mode(pick(Modes))
		p := New(cfg)
		call, parts := p.Decide(r), p.ExplainParts(r)
		worst, ruled := Allow, call.Layer != LayerRule || call.Behavior == Allow // a call has one of several allow rules
		for _, d := range parts {
			worst = min(worst, d.Behavior)
			ruled = ruled || d.Behavior == call.Behavior && d.Rule == call.Rule && d.Layer == LayerRule
			if d.Reason == "" || (d.Rule == "") != (d.Location() == "") || (d.Layer == LayerRule) != (d.Rule != "") && p.mode != ModeDontAsk {
				t.Fatalf("%+v", d)
			}
		}
		if len(parts) != len(texts) || worst != call.Behavior || !ruled {
			t.Fatalf("rules %v, mode %s, parts %q, %+v\ncall  %+v\nparts %+v", rules, p.mode, texts, r.Parts, call, parts)
		}
		seen[call.Behavior.String()+" "+call.Layer]++
	}
	for _, want := range []string{"allow rule", "allow read-only", "allow default", "allow mode", "ask rule", "ask default", "deny rule", "deny mode"} {
		if seen[want] < calls/1000 {
			t.Errorf("only %d calls of %d are decided as %s: %v", seen[want], calls, want, seen)
		}
	}
}

// TestExplainPartsOfDecisions compares the decisions on parts with Decide for the
// calls of the table. Named files are not parts of a call.
func TestExplainPartsOfDecisions(t *testing.T) {
	n := 0
	for _, r := range decisions(t) {
		req := request(r.call)
		text, isCommand := strings.CutPrefix(r.call, "Bash: ")
		if req.Parts == nil && !isCommand && (req.Target == nil || req.Target.Canonical == "") {
			continue
		}
		p := New(world(ruleset(r.rules...)))
		switch {
		case req.Parts != nil:
		case isCommand:
			req.Parts = marked(text)
		default:
			req.Tool, req.Aliases, req.Parts = "Bash", former["Bash"], marked("cat x")
			req.Parts.Targets = []Target{*req.Target}
		}
		call := p.Decide(req)
		for _, d := range p.ExplainParts(req) {
			n++
			if d.Behavior < call.Behavior || isCommand && (d.Behavior != call.Behavior || d.Rule != call.Rule) {
				t.Errorf("decisions.txt:%d: %s: the part is %+v, the call %+v", r.line, r.call, d, call)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d parts", n)
	}
}
