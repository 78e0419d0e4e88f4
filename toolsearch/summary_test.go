package toolsearch

import "testing"

// TestSummary checks the one line about what was found.
func TestSummary(t *testing.T) {
	for want, out := range map[string]Output{
		"0 tools": {}, "3 tools": {Tools: make([]Hit, 2), More: []string{"x"}}, "1 tool and 2 skills": {Tools: make([]Hit, 1), Skills: make([]Skill, 2)},
	} {
		if got := out.summary(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
