package dfa

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const testFlags = syntax.PerlX | syntax.UnicodeGroups // ^ and $ are those of lines

func parse(t testing.TB, pattern string) *syntax.Regexp {
	t.Helper()
	re, err := syntax.Parse(pattern, testFlags)
	if err != nil {
		t.Fatalf("%q: %v", pattern, err)
	}
	return re
}

var atoms = []string{"a", "b", "ab", "k", "_", ".", `\w`, `\s`, "[^a]", "[a-c]", "é", "[é-ü]", `\pL`, `\x{2028}`, "\x00", `\r`,
	"(?i:k)", "(?i:a_s)", "^", "$", `\b`, `\B`, `\A`, `\z`, "", `[^\x00-\x{7f}]`, `(?s:.)`, `[\x{800}-\x{ffff}]`, `\n`}

func randomPattern(r *rand.Rand, depth int) string {
	if depth == 0 || r.IntN(4) == 0 {
		return atoms[r.IntN(len(atoms))]
	}
	a := randomPattern(r, depth-1)
	switch r.IntN(8) {
	case 0:
		return "(?:" + a + "|" + randomPattern(r, depth-1) + ")"
	case 1:
		return "(?:" + a + ")" + []string{"*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?", "??", "{0,2}?"}[r.IntN(10)]
	case 2:
		return "(" + a + ")"
	default:
		return a + randomPattern(r, depth-1)
	}
}

var pieces = []string{"a", "a", "b", "b", "c", "_", "k", "K", "s", " ", "\t", "\n", "\n", "\r", "\r\n", "\n\n", "é", "ü", "\u2028", "\u212a", "ſ", "\x00", "\x80", "\xe2", "\xe2\x80", "\xff", "\xc3", "ab", "a_s", "世", "😀", "\U0010ffff"}

func randomText(r *rand.Rand, n int) []byte {
	var b []byte
	ascii := r.IntN(2) == 0
	for range r.IntN(n) {
		p := pieces[r.IntN(len(pieces))]
		if !ascii || p[0] < 0x80 {
			b = append(b, p...)
		}
	}
	return b
}

// FuzzLines compares all methods of a Finder with the obvious implementations.
func FuzzLines(f *testing.F) {
	for seed := range uint64(randomCases) {
		f.Add(seed, seed+1)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		r := rand.New(rand.NewPCG(a, b))
		pattern := randomPattern(r, 4)
		n := 40
		if r.IntN(10) == 0 {
			n = 6000 // more than one segment
		}
		checkLines(t, r, pattern, randomText(r, n))
	})
}

func checkLines(t *testing.T, r *rand.Rand, pattern string, buf []byte) {
	re := parse(t, pattern)
	o := Options{LF: r.IntN(3) == 0}
	ref := reference{crlf: !o.LF}
	want, ok := ref.lines(re, buf)
	if !ok {
		return
	}
	if len(want) > 0 && r.IntN(4) == 0 && len(buf) < 200 {
		o.Must = within(t, r, re, o, buf, want)
		if o.MustFold = utf8.ValidString(strings.Join(o.Must, "\n")) && r.IntN(2) == 0; o.MustFold {
			for i := range o.Must {
				o.Must[i] = strings.ToUpper(o.Must[i])
			}
		}
	}
	d, err := New(re, o)
	if err != nil {
		t.Fatal(err)
	}
	mode := r.IntN(4)
	switch mode {
	case 0:
		d.m.maxStates = 8 + r.IntN(4)
	case 1:
		if r.IntN(2) == 0 {
			d.m.idle[0].bits = d.m.idle[0].bitsOf()
		}
		d.m.idle[0].slow = 1 + r.IntN(100)
	}
	what := fmt.Sprintf("pattern %q, mode %d, options %+v, text %.300q", pattern, mode, o, buf)
	for range 2 { // the second time with existing tables
		compare(t, d, what, buf, want)
	}
	for _, line := range bytes.Split(buf, []byte("\n"))[:min(20, bytes.Count(buf, []byte("\n"))+1)] {
		checkSpans(t, d, what, re, line, o)
	}
}

// within returns texts that matches contain, one for each line: the whole match or a
// byte of it.
func within(t *testing.T, r *rand.Rand, re *syntax.Regexp, o Options, buf []byte, lines [][2]int) (must []string) {
	t.Helper()
	d, err := New(re, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range lines {
		line := buf[w[0]:w[1]]
		for _, s := range d.Part(w[0] == 0, w[1] == len(buf)).Spans(line, 1) {
			text := string(line[s[0]:s[1]])
			if len(text) > 1 && r.IntN(2) == 0 {
				i := r.IntN(len(text))
				text = text[i : i+1]
			}
			if !slices.Contains(must, text) {
				must = append(must, text)
			}
		}
	}
	return must
}

func compare(t *testing.T, d *DFA, what string, buf []byte, want [][2]int) {
	t.Helper()
	var got [][2]int
	d.Lines(buf, func(start, end int) bool { got = append(got, [2]int{start, end}); return true })
	if !slices.Equal(got, want) {
		t.Fatalf("%s:\nlines %v, want %v", what, got, want)
	}
	if n := d.Count(buf); n != len(want) {
		t.Fatalf("%s:\ncount %d, want %d", what, n, len(want))
	}
	if any := d.Any(buf); any != (len(want) > 0) {
		t.Fatalf("%s:\nany %v, want %v", what, any, want)
	}
}

func checkSpans(t *testing.T, d *DFA, what string, re *syntax.Regexp, line []byte, o Options) {
	t.Helper()
	ref := reference{crlf: !o.LF, line: line, begin: true, end: true}
	match := ref.match(re)
	if ref.steps >= tooManySteps {
		return
	}
	if got := d.Match(line); got != match {
		t.Fatalf("%s:\nline %q matches %v, want %v", what, line, got, match)
	}
	got := d.Spans(line, -1)
	if (len(got) > 0) != match {
		t.Fatalf("%s:\nline %q matches %v, spans %v", what, line, match, got)
	}
	for _, s := range got {
		if r := line[s[0]:s[1]]; utf8.Valid(line) && !utf8.Valid(r) {
			t.Fatalf("%s:\nline %q, span %v cuts a rune", what, line, s)
		}
	}
	text := re.String()
	ascii := len(line) == len([]rune(string(line))) && utf8.Valid(line)
	if !utf8.Valid(line) || !ascii && strings.Contains(strings.ToLower(text), `\b`) || !o.LF && bytes.HasSuffix(line, []byte("\r")) {
		return // package regexp has another meaning
	}
	var want [][2]int
	for _, s := range regexp.MustCompile(text).FindAllIndex(line, -1) {
		want = append(want, [2]int{s[0], s[1]})
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%s:\nline %q, spans %v, want %v", what, line, got, want)
	}
	if len(want) > 1 {
		if got := d.Spans(line, 1); !slices.Equal(got, want[:1]) {
			t.Fatalf("%s:\nline %q, one span %v, want %v", what, line, got, want[:1])
		}
	}
}
