package pdf

import (
	"math"
	"testing"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "",
		" \r\n\t":                          "",
		"a \r\nb\t \r\n\r\nc":              "a\nb\n\nc",
		"  indented":                       "  indented",
		"exam\ufffeple":                    "exam-\nple",
		"a \ufffe b":                       "a \uFFFD b",
		"nul\x00 bell\a del\x7f c1\u0085.": "nul bell del c1.",
		"bad\xff":                          "bad\uFFFD",
		"é\ufffez😀\ufffey":                 "é-\nz😀-\ny",
	} {
		runes := []rune(in)
		hyphen := func(i int) bool { return i > 0 && runes[i-1] != ' ' && runes[i] == unmapped }
		if got := clean(in, hyphen); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestReadable(t *testing.T) {
	for in, want := range map[string]bool{
		"": false, " \n": false, "a": true, "\uFFFD": false, "ab\uFFFD": true, "a\uFFFD": false, "\uE000\uE001 \n a": false,
	} {
		if readable(in) != want {
			t.Errorf("%q: %v", in, !want)
		}
	}
}

func TestPixels(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		width, height float64
		w, h          int
	}{
		{612, 792, 1545, 2000}, {72, 36, 200, 100}, {1e9, 1, 2000, 1}, {0.001, 0.001, 1, 1}, {1e300, 1e300, 2000, 2000},
		{0, 792, 0, 0}, {-1, 5, 0, 0}, {nan, 5, 0, 0}, {5, nan, 0, 0}, {inf, 5, 0, 0}, {inf, inf, 0, 0},
	} {
		if w, h, err := pixels(c.width, c.height); w != c.w || h != c.h || (err != nil) != (c.w == 0) {
			t.Errorf("%v x %v: %d x %d, %v", c.width, c.height, w, h, err)
		}
	}
}
