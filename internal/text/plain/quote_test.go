package plain

import (
	"strings"
	"testing"
)

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"/a b/é漢":             "/a b/é漢",
		"":                    `""`,
		`"a`:                  `"\"a"`,
		"a\nb":                `"a\nb"`,
		"a\x00":               `"a\x00"`,
		"\xff\xfe":            `"\xff\xfe"`,
		"\u202egpj.exe":       `"\u202egpj.exe"`,
		"a\u00a0b":            `"a\u00a0b"`,
		"\ufffd":              `"�"`,
		"zero\u200bwidth":     `"zero\u200bwidth"`,
		"\u009b31m":           `"\u009b31m"`,
		"tag\U000e0041":       `"tag\U000e0041"`,
		"line\u2028separator": `"line\u2028separator"`,
	} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{strings.Repeat("é", 500), strings.Repeat("\x1b", 5000), strings.Repeat("\xff漢", 1000)} {
		if got := Quote(in); len(got) > maxShown+len("…") || !Printable(strings.ReplaceAll(got, `"`, "x")) {
			t.Errorf("Quote of %d bytes: %d bytes, %s", len(in), len(got), got)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		s    string
		n    int
		want string
	}{{"", 0, ""}, {"éé", 2, "éé"}, {"ééé", 2, "é…"}, {"ab", 1, "…"}, {"a", 0, "…"}} {
		if got := Cut(c.s, c.n); got != c.want {
			t.Errorf("%q, %d: %q, want %q", c.s, c.n, got, c.want)
		}
	}
}
