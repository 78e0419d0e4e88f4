package grep

import (
	"testing"
	"time"

	"mcp-toolset/tools/toolstest"
)

func TestContext(t *testing.T) {
	p := func(n int) *int { return &n }
	for _, tc := range []struct {
		in            Input
		before, after int
	}{
		{Input{}, 0, 0},
		{Input{Around: 2}, 2, 2},
		{Input{Context: 3}, 3, 3},
		{Input{Around: 2, Context: 3}, 3, 3},
		{Input{Before: p(1)}, 1, 0},
		{Input{After: p(1)}, 0, 1},
		{Input{Around: 2, After: p(0)}, 2, 0},
		{Input{Context: 2, Before: p(1), After: p(5)}, 1, 5},
		{Input{Before: p(5000), Around: 2000}, mostContext, mostContext},
		{Input{After: p(2), Around: 1, OnlyMatches: true}, 0, 0},
	} {
		tc.in.OutputMode = "content"
		q := tc.in.query(nil)
		if q.Before != tc.before || q.After != tc.after {
			t.Errorf("%+v: %d before, %d behind", tc.in, q.Before, q.After)
		}
		tc.in.OutputMode = "count"
		if q = tc.in.query(nil); q.Before+q.After > 0 {
			t.Errorf("%+v: lines around a count", tc.in)
		}
	}
}

// TestDeadline checks that a search reports its timeout, and does not report that there is
// no match.
func TestDeadline(t *testing.T) {
	w := toolstest.NewWorkspace(t)
	resp, err := w.Call(t.Context(), New(Options{Deadline: time.Nanosecond}), `{"pattern": "x"}`)
	if err != nil {
		t.Fatal(err)
	}
	const want = "[incomplete: time was up while the folders were listed; narrow the search by path, glob or type]"
	if got := toolstest.Text(resp); got != want {
		t.Error(got)
	}
}

func TestAsText(t *testing.T) {
	for pattern, want := range map[string]string{
		"func (s *Foo)":    `func \(s \*Foo\)`,
		"main()":           `main\(\)`,
		"f(x, y) {":        `f\(x, y\) \{`,
		"a[0]":             `a\[0\]`,
		"m[key] =":         `m\[key\] =`,
		"f(x)[i]":          `f\(x\)\[i\]`,
		"func":             "",
		`func \(s`:         "",
		`main\(\)`:         "",
		`a\[0\]`:           "",
		"(foo|bar)":        "",
		"(foo)+":           "",
		"(?:foo)":          "",
		"(?i)foo":          "",
		"[abc]+":           "",
		"[0-9]":            "",
		`x[a-z]`:           "",
		`\w[0]*`:           "",
		`(\w+)*`:           "",
		"^interface{}$":    "",
		`\[a(?:b|c)d\]`:    "",
		`err \(nil\)|(a)?`: "",
	} {
		if got := asText(pattern); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
}
