package dfa

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
)

// inText parses a pattern whose matches may span lines.
func inText(t testing.TB, pattern string) *Text {
	t.Helper()
	re, err := syntax.Parse("(?ms)"+pattern, syntax.Perl&^syntax.OneLine)
	if err != nil {
		t.Fatal(err)
	}
	text, err := NewText(re, true)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func placesOf(text *Text, buf string) (all [][]int) {
	text.Each([]byte(buf), nil, func(start, end int) bool {
		all = append(all, []int{start, end})
		return true
	})
	return all
}

func TestText(t *testing.T) {
	for _, tc := range []struct {
		pattern, buf string
		want         [][]int
	}{
		{`\bété\s+b`, "été\nb", [][]int{{0, 7}}},
		{`\btés\s`, "étés\n", nil},
		{`é\b\s*x`, "é\nx", [][]int{{0, 4}}},
		{`o\b.b`, "oé\nb o\nb", [][]int{{6, 9}}},
		{`\B\s`, "\xff\n", nil}, // beside an invalid byte \B does not match
		{`a.b`, "a\xffb a\nb", [][]int{{4, 7}}},
		{`[^x]+`, "a\xff\nb", [][]int{{0, 1}, {2, 4}}},
		{`^b$`, "a\nb\nb\r\nb", [][]int{{2, 3}, {4, 5}, {7, 8}}},
		{`\Ab|a\z`, "b\nb\na\na", [][]int{{0, 1}, {6, 7}}},
		{`a\nb`, "a\na\nb", [][]int{{2, 5}}},
		{`aa\n`, "aaa\naa\n", [][]int{{1, 4}, {4, 7}}},
		{`(?-s:.)+`, "ab\nc", [][]int{{0, 2}, {3, 4}}},
		{``, "a\n", [][]int{{0, 0}, {1, 1}, {2, 2}}},
	} {
		if got := placesOf(inText(t, tc.pattern), tc.buf); !slices.EqualFunc(got, tc.want, slices.Equal) {
			t.Errorf("%q in %q: %v, want %v", tc.pattern, tc.buf, got, tc.want)
		}
	}
	part := inText(t, `\Aa|a\z|b`).Part(false, false)
	if got := placesOf(part, "a\nb\na"); len(got) != 1 {
		t.Errorf("the ends of a part are taken for those of the text: %v", got)
	}
	for buf, want := range map[string]bool{"a": true, "": true, " ": false, "\nx": true, " \n": false} {
		if got := inText(t, `\s*?$|\s+|`).EmptyFirst([]byte(buf)); got != want {
			t.Errorf("%q begins with an empty match: %t", buf, got)
		}
	}
}

// TestTextStandard checks that on valid text without boundaries beyond ASCII the
// matches are those of package regexp.
func TestTextStandard(t *testing.T) {
	atoms := []string{"a", "b", "ab", `\n`, `\s`, ".", "(?-s:.)", `[^a]`, "é", `\w`, "^", "$", `\A`, `\z`, "x*", "a+?", "(?:a|ab)", "(?:|b)", `\s*`, "(?:a\n)*"}
	r := rand.New(rand.NewPCG(7, 8))
	for range randomCases {
		var src strings.Builder
		for range 1 + r.IntN(5) {
			src.WriteString(atoms[r.IntN(len(atoms))])
		}
		var buf strings.Builder
		for range r.IntN(40) {
			buf.WriteString([]string{"a", "b", "x", "\n", "\n", " ", "é"}[r.IntN(7)])
		}
		want := regexp.MustCompile("(?ms)"+src.String()).FindAllStringIndex(buf.String(), -1)
		if got := placesOf(inText(t, src.String()), buf.String()); !slices.EqualFunc(got, want, slices.Equal) {
			t.Fatalf("%q in %q: %v, want %v", &src, &buf, got, want)
		}
	}
}

// TestTextStops checks that the search stops when yield returns false.
func TestTextStops(t *testing.T) {
	buf := bytes.Repeat([]byte("ab\n"), 1<<20)
	n := 0
	inText(t, `b\n`).Each(buf, nil, func(int, int) bool { n++; return n < 3 })
	if n != 3 {
		t.Errorf("%d matches were given, want 3", n)
	}
	asked := 0
	inText(t, `[ab]+\s+c`).Each(buf, func() bool { asked++; return asked == 3 }, func(int, int) bool { return true })
	if asked != 3 {
		t.Errorf("stop was asked %d times, want 3", asked)
	}
}
