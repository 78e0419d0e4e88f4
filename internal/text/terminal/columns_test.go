package terminal

import "testing"

func TestColumns(t *testing.T) {
	for _, c := range []struct {
		line string
		n    int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"日本語", 6, "日本語"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"},
		{"e\u0301e\u0301", 2, "e\u0301e\u0301"}, {"e\u0301e\u0301e", 2, "e\u0301…"}, {"日", 1, "…"},
	} {
		if got := CutColumns(c.line, c.n); got != c.want || Columns(got) > c.n {
			t.Errorf("%q in %d columns: %q, want %q", c.line, c.n, got, c.want)
		}
	}
}
