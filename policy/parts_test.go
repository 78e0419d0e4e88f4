package policy

import (
	"strings"
	"testing"
)

func TestCommandPattern(t *testing.T) {
	for _, one := range []struct {
		pattern  string
		yes, not string // texts separated by |
	}{
		{"npm run build", "npm run build", "npm run|npm run build x|npm run buildx|anpm run build|"},
		{"npm run *", "npm run|npm run build|npm run build --x|npm run ", "npm|npm runner|npm  run"},
		{"npm run:*", "npm run|npm run build|npm run build --x", "npm|npm runner|npm run:x"},
		{"ls*", "ls|ls -l|lsof", "l|als| ls"},
		{"git * main", "git push main|git  main|git a b main", "git main|git push mainx|git push"},
		{"* --version", "node --version|a b --version", "--version|node --versions"},
		{"*", "|a|a b", ""},
		{"a*b*c", "abc|aXbXc|abcbc", "ac|ab|acb|abcd|bc"},
		{"a*a", "aa|aXa", "a"},
		{"a*b*b", "abb|aXbb|abXb", "ab|aXb"},
		{"git * log *", "git x log y|git x log ", "git x log|git log y"},
		{"a.b", "a.b", "axb"},
		{"a?[b", "a?[b", "axb"},
		{"", "", "a"},
	} {
		c := compileCommand(one.pattern)
		for text := range strings.SplitSeq(one.yes, "|") {
			if !c.covers(text) {
				t.Errorf("%q does not cover %q", one.pattern, text)
			}
			if first, _, _ := strings.Cut(text, " "); c.word() != "" && c.word() != first {
				t.Errorf("%q is looked for at %q and covers %q", one.pattern, c.word(), text)
			}
			for i := range text {
				if !c.mayCover(text[:i]) {
					t.Errorf("%q may not cover what begins with %q, and covers %q", one.pattern, text[:i], text)
				}
			}
		}
		if one.not == "" {
			continue
		}
		for text := range strings.SplitSeq(one.not, "|") {
			if c.covers(text) {
				t.Errorf("%q covers %q", one.pattern, text)
			}
		}
	}
}

// TestMayCover checks beginnings of texts that the pattern cannot cover.
func TestMayCover(t *testing.T) {
	for pattern, no := range map[string]string{
		"git push:*": "git l|git pull |gi t|x", "git push": "git push |git push x|git l", "ls*": "x|a ls", "git * main": "gitx |x git ", "npm run *": "npm t",
	} {
		for sure := range strings.SplitSeq(no, "|") {
			if compileCommand(pattern).mayCover(sure) {
				t.Errorf("%q may cover what begins with %q", pattern, sure)
			}
		}
	}
}

// TestCaselessSearch checks that a caseless search finds rules by their first word and
// does not compile the patterns of rules again.
func TestCaselessSearch(t *testing.T) {
	index := func(patterns ...string) *commandIndex {
		l := newList(&Policy{}, Deny, nil)
		for i, pattern := range patterns {
			r := parseRule("Bash("+pattern+")", i, Origin{}, "/")
			l.add(&r)
		}
		return &l.commands
	}
	for pattern, text := range map[string]string{"Git Push *": "git push -f", "git push:*": "GIT Push", "Remove-*": "REMOVE-item x", "*Force": "rm -FORCE", "x Ä*": "X äb"} {
		var m match
		index("Other *", pattern).searchCaseless(&m, text)
		if m.rule == nil || m.rule.order != 1 {
			t.Errorf("%s does not cover %s", pattern, text)
		}
	}
	var m match
	if index("Git Push *", "Gi*x").searchCaseless(&m, "git pull"); m.rule != nil {
		t.Errorf("%s covers git pull", m.rule.text)
	}
	m = match{}
	index("Git Push *").findPossible(&m, &Part{Text: "git X", Name: "git X", KnownPrefix: "GIT ", Caseless: true})
	if m.rule == nil {
		t.Error("Git Push * may not cover what begins with GIT")
	}
	allocs := func(x *commandIndex) float64 {
		return testing.AllocsPerRun(10, func() {
			var m match
			x.searchCaseless(&m, "git status")
		})
	}
	var many []string
	for range 100 {
		many = append(many, "Git Push *", "Other *", "*Force")
	}
	if one, all := allocs(index("Git Push *", "*Force")), allocs(index(many...)); all > one {
		t.Errorf("%v allocations with 2 rules, %v with 300", one, all)
	}
}
