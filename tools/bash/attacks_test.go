package bash

import (
	"os"
	"strings"
	"testing"

	"mcp-toolset/policy"
)

// TestAttacks checks that no command of testdata/attacks.txt is allowed.
func TestAttacks(t *testing.T) {
	data, err := os.ReadFile("testdata/attacks.txt")
	if err != nil {
		t.Fatal(err)
	}
	s, n := newScene(t), 0
	var rule entry
	for i, line := range strings.Split(string(data), "\n") {
		if def, ok := strings.CutPrefix(line, "= "); ok {
			rule.list, rule.rule, _ = strings.Cut(def, " ")
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		n++
		reads := strings.HasPrefix(rule.rule, "Read(")
		rules := []entry{rule}
		if !reads {
			rules = append(rules, entry{"allow", "Bash"})
		}
		s.set(t, rules...)
		for tool := range 2 {
			for _, s.exposed = range []bool{true, false} {
				gitKept := strings.Contains(line, "git") && !strings.Contains(line, "--no-index")
				if !s.exposed && reads && !gitKept || tool == 1 && !reads {
					continue
				}
				if d := s.decide(t, tool, decode(t, line)); d.Behavior == policy.Allow {
					t.Errorf("attacks.txt:%d: %s: %s (exposed %v, tool %d)", i+1, line, show(d), s.exposed, tool)
				}
			}
		}
	}
	if n < 700 {
		t.Errorf("only %d commands", n)
	}
}
