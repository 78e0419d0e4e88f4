package plain

import (
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"/w/a b.txt":      "/w/a b.txt",
		"/w/é漢字.txt":      "/w/é漢字.txt",
		"a\nb\tc":         `a\nb\tc`,
		"\x1b[31mred":     `\x1b[31mred`,
		"a\u202etxt.exe":  `a\u202etxt.exe`,
		"zero\u200bwidth": `zero\u200bwidth`,
		"bad\xff\xfe":     `bad\xff\xfe`,
		"kept\uFFFD":      "kept\uFFFD",
		"":                "",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %s, want %s", in, got, want)
		}
	}
	long := Line(strings.Repeat("x", 10_000) + "end")
	if len(long) > most+10 || !strings.HasSuffix(long, "end") {
		t.Errorf("a long text came out with %d bytes", len(long))
	}
}
