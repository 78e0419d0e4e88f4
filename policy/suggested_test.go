package policy

import (
	"regexp"
	"testing"
)

// TestSuggested checks the rules that a question about a command suggests: they cover the call.
func TestSuggested(t *testing.T) {
	literal := func(texts ...string) (list []Part) {
		for _, text := range texts {
			list = append(list, Part{Text: text, Name: text, Allowable: true})
		}
		return list
	}
	unknown := Part{Text: "x $Y", Name: "x $Y", KnownPrefix: "x "}
	const none = "ask; no rule can allow it for good, since a rule cannot tell what it runs"
	for name, tc := range map[string]struct {
		parts []Part
		rules []string
		want  string
	}{
		"one":            {literal("npm install"), nil, "ask, for good by the rule Bash(npm install) in /s.json"},
		"two":            {literal("b c", "a"), nil, "ask, for good by the rules Bash(a) and Bash(b c) in /s.json"},
		"twice":          {literal("a", "a"), nil, "ask, for good by the rule Bash(a) in /s.json"},
		"four":           {literal("a", "b", "c", "d"), nil, "ask, for good by a rule on each of its 4 commands in /s.json"},
		"one is allowed": {literal("a", "b"), []string{"Bash(a)"}, "ask, for good by the rule Bash(b) in /s.json"},
		"a read":         {append(literal("a"), Part{Text: "ls", Name: "ls", Allowable: true, ReadOnly: true}), nil, "ask, for good by the rule Bash(a) in /s.json"},
		"only reads":     {[]Part{{Text: "git log -p", Name: "git log -p", Allowable: true, ReadOnly: true}}, nil, "ask, for good by the rule Bash(git log -p) in /s.json"},
		"a pattern":      {literal("cp *.go x y"), nil, none},
		"a late pattern": {literal("go vet ./* x"), nil, "ask, for good by the rule Bash(go vet *) in /s.json"},
		"long":           {literal("git commit -m aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), nil, "ask, for good by the rule Bash(git commit *) in /s.json"},
		"lines":          {literal("git commit -m a\nb"), nil, "ask, for good by the rule Bash(git commit *) in /s.json"},
		"unknown":        {[]Part{unknown}, nil, none},
		"beside":         {append(literal("a"), unknown), nil, none},
		"a file":         {[]Part{{Text: "a", Name: "a", Allowable: true, Outputs: []string{"f"}}}, nil, "ask, for good by the rules Bash(a) and Bash(tee f) in /s.json"},
		"by the preset":  {literal("npm --prefix sub run x", "a"), nil, "ask, for good by the rule Bash(a) in /s.json"},
	} {
		cfg := Config{Roots: []string{"/r"}, AddTo: "/s.json"}
		cfg.Rules.AddPreset("Bash(npm run *)", Except{}, Origin{})
		for _, rule := range tc.rules {
			cfg.Rules.Add(Allow, rule, Origin{}, "/r")
		}
		r := Request{Tool: "Bash", Dir: "/r", Parts: &Parts{List: tc.parts}, Own: &Decision{Behavior: Ask, Reason: "it asks", Next: "ask", Suggest: true}}
		d := New(cfg).Decide(r)
		if d.Behavior != Ask || d.Next != tc.want {
			t.Errorf("%s: %q", name, d.Next)
		}
		rules := regexp.MustCompile(`Bash\([^)]*\)`).FindAllString(d.Next, -1)
		for _, rule := range rules {
			cfg.Rules.Add(Allow, rule, Origin{}, "/r")
		}
		if d := New(cfg).Decide(r); rules != nil && d.Behavior != Allow {
			t.Errorf("%s: the rules %q do not allow it", name, rules)
		}
	}
}
