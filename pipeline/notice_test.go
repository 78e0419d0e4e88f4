package pipeline

import (
	"strings"
	"testing"

	"mcp-toolset/session"
)

// TestNotice checks that the first result of each session, and of all requests
// without a session, ends with the notice. It is added once, also to a refusal
// or a long result.
func TestNotice(t *testing.T) {
	const notice = "[something is wrong]"
	long := `{"do":"repeat","arg":"` + strings.Repeat("x", 100) + `"}`
	b := newBench(t, "")
	b.Notice = notice
	open := func(stateless bool) {
		b.session = session.New(session.Config{ID: "2", Roots: b.Roots.Paths(), Results: b.Results.Hold("2"), Stateless: stateless})
	}
	for _, c := range []struct {
		what, tool, args  string
		stateless, notice bool
	}{
		{"a result with a nested call", "Do", `{"do":"call","arg":"Look {\"do\":\"x\",\"arg\":\"inner\"}"}`, false, true},
		{"a refusal", "Do", `{"do":"invalid"}`, false, true},
		{"a long result", "Head", long, false, true},
		{"without a session", "Do", `{"do":"x"}`, true, true},
		{"again without a session", "Do", `{"do":"x"}`, true, false},
	} {
		open(c.stateless)
		have := b.run(t, t.Context(), c.tool, c.args)
		if strings.HasSuffix(have, "\n"+notice) != c.notice || c.notice && strings.Count(have, notice) != 1 {
			t.Errorf("%s: %s", c.what, have)
		}
		if have := b.run(t, t.Context(), "Do", `{"do":"x","arg":"said"}`); have != "said" {
			t.Errorf("behind %s: %s", c.what, have)
		}
	}
}
