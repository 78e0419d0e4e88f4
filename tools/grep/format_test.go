package grep

import (
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	e := func(n int) string { return strings.Repeat("é", n) }
	bad := func(n int) string { return strings.Repeat("\x80", n) }
	for _, tc := range []struct {
		name, text string
		at         int
		want       string
	}{
		{"whole", x(500), 0, x(500)},
		{"one more", x(501), 0, x(500) + "…[1 more bytes]"},
		{"beside a match", x(501), -1, x(500) + "…[1 more bytes]"},
		{"characters", e(500), 0, e(500)},
		{"few bytes and many", x(6) + e(400), 0, x(6) + e(400)},
		{"one character more", e(501), 0, e(500) + "…[2 more bytes]"},
		{"in the middle", x(1000) + "y" + x(1000), 1000, "[900 bytes]…" + x(100) + "y" + x(399) + "…[601 more bytes]"},
		{"near the beginning", x(99) + "y" + x(1000), 99, x(99) + "y" + x(400) + "…[600 more bytes]"},
		{"near the end", x(1000) + "y" + x(9), 1000, "[510 bytes]…" + x(490) + "y" + x(9)},
		{"at the end", x(1000), 1000, "[500 bytes]…" + x(500)},
		{"400 to the end", x(1000), 600, "[500 bytes]…" + x(500)},
		{"between wide ones", e(1000) + "y" + e(1000), 2000, "[1800 bytes]…" + e(100) + "y" + e(399) + "…[1202 more bytes]"},
		{"within a wide one", e(1000), 999, "[800 bytes]…" + e(500) + "…[200 more bytes]"},
		{"invalid", x(600) + bad(2000) + x(9), 600, "[500 bytes]…" + x(100) + "\uFFFD…[1609 more bytes]"},
		{"behind invalid", bad(2000) + "y" + x(900), 2000, "[1900 bytes]…\uFFFDy" + x(399) + "…[501 more bytes]"},
	} {
		f := formatter{}
		if got := string(f.line(nil, "", 0, []byte(tc.text), tc.at)); got != tc.want+"\n" {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

func TestLine(t *testing.T) {
	for _, tc := range []struct {
		f    formatter
		text string
		at   int
		want string
	}{
		{formatter{prefix: "d/", paths: true, numbers: true}, "x", 0, "d/p:7:x\n"},
		{formatter{prefix: "d/", paths: true, numbers: true}, "x", -1, "d/p-7-x\n"},
		{formatter{paths: true}, "--", -1, "p---\n"},
		{formatter{numbers: true}, "--", 3, "7:--\n"},
		{formatter{}, "--", 0, "\xFF--\n"},
		{formatter{}, "a\xFFb", 0, "a\uFFFDb\n"},
	} {
		if got := string(tc.f.line(nil, "p", 7, []byte(tc.text), tc.at)); got != tc.want {
			t.Errorf("%+v %q: %q", tc.f, tc.text, got)
		}
	}
}
