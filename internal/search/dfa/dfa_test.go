package dfa

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestLines(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		lf            bool
		want          string // the lines that match, each quoted
	}{
		{"", "", false, ``},
		{"", "\n", false, `""`},
		{"", "a\n\nb", false, `"a""""b"`},
		{"^$", "a\n\nb\n", false, `""`},
		{"^$", "a\n\r\nb", false, `"\r"`},
		{"^$", "a\n\r\nb", true, ``},
		{"foo$", "foo\r\nfoo\nfoo\r\r\nfoo\r", false, `"foo\r""foo""foo\r"`},
		{"foo$", "foo\r\nfoo\nfoo\r", true, `"foo"`},
		{`foo\r$`, "foo\r\nfoo\r\r\n", false, `"foo\r""foo\r\r"`},
		{`foo$\r`, "foo\r\nfoo\rx", false, `"foo\r"`},
		{`\Aa`, "a\na", false, `"a"`},
		{`a\z`, "a\na", false, `"a"`},
		{`a\z`, "a\na\n", false, ``},
		{`.`, "\xff\n\x00\né", false, `"\x00""é"`},
		{`[^a]`, "\xe2\x80\na\nb", false, `"b"`},
		{`a\sb`, "a\nb", false, ``},
		{`(?i:k)`, "K\n\u212a\nx", false, "\"K\"\"\u212a\""},
		{`\bé`, "éa\naé\n", false, `"éa"`},
		{`a\b`, "a{\naé", false, `"a{"`}, // the result for '{' is not that of all bytes above
		{`a$\r\z`, "a\r\na\r", false, `"a\r"`},
		{`a\B`, "aé\na\na\xff", false, `"aé"`},
		{`a\b`, "a}\naé\na\u2028", false, "\"a}\"\"a\\u2028\""},
		{`\ba`, "}a\néa\n\u2028a", false, "\"}a\"\"\\u2028a\""},
		{`é\b`, "é\r\néa\né", false, `"é\r""é"`},
		{`\b$`, "{{{\n{{{\nééé\n", false, `"ééé"`}, // no class distinguishes the two
		{`\Ba\b`, "éa\nxa\n\xffa", false, `"éa""xa"`},
	} {
		d, err := New(parse(t, c.pattern), Options{LF: c.lf})
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		d.Lines([]byte(c.text), func(s, e int) bool { fmt.Fprintf(&got, "%q", c.text[s:e]); return true })
		if got.String() != c.want {
			t.Errorf("%q in %q: got %s, want %s", c.pattern, c.text, got.String(), c.want)
		}
	}
}

func TestPart(t *testing.T) {
	buf := []byte("a\na")
	all := map[string]*DFA{} // the same tables for all parts
	for _, c := range []struct {
		pattern    string
		begin, end bool
		want       int
	}{{`\Aa`, true, true, 1}, {`\Aa`, false, true, 0}, {`a\z`, true, true, 1}, {`a\z`, true, false, 0}, {`\A`, true, false, 1}, {`\A`, false, false, 0}} {
		d := all[c.pattern]
		if d == nil {
			d, _ = New(parse(t, c.pattern), Options{})
			all[c.pattern] = d
		}
		if got := d.Part(c.begin, c.end).Count(buf); got != c.want {
			t.Errorf("%+v: got %d", c, got)
		}
	}
}

func TestDeclined(t *testing.T) {
	deep := parse(t, "a")
	for range 2 * maxDepth {
		deep = &syntax.Regexp{Op: syntax.OpCapture, Sub: []*syntax.Regexp{deep}}
	}
	repeat := parse(t, "a")
	for range 4 {
		repeat = &syntax.Regexp{Op: syntax.OpRepeat, Min: 1000, Max: 1000, Sub: []*syntax.Regexp{repeat}}
	}
	for _, re := range []*syntax.Regexp{deep, repeat, parse(t, `(?:\pL{30}){30}`)} {
		if _, err := New(re, Options{}); !errors.Is(err, ErrDeclined) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := Literal(strings.Repeat("a", maxInsts), false); !errors.Is(err, ErrDeclined) {
		t.Errorf("got %v", err)
	}
}

// TestExplosion checks that an automaton that grows with the text is given up, stays
// within its limits, and that the result is the same.
func TestExplosion(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var buf []byte
	for range 1_000_000 {
		buf = append(buf, "abcdefghijklmnopqrstuvwxyz    \n"[r.IntN(31)])
	}
	re := parse(t, `[a-q][^u-z]{13}x`)
	d, err := New(re, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := d.m.get()
	want := 0
	for line := range bytes.Lines(buf) {
		if c.crawl(text{bytes.TrimSuffix(line, []byte("\n")), false, false}) {
			want++
		}
	}
	d.m.put(c)
	if got := d.Count(buf); got != want || want == 0 {
		t.Errorf("got %d lines, want %d", got, want)
	}
	if c.penalty == slowBytes {
		t.Error("the automaton was not given up")
	}
	if len(c.keys) > maxStates+cursors {
		t.Errorf("%d states", len(c.keys))
	}
}

func TestLiteral(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range randomCases {
		buf := randomText(r, 60)
		if r.IntN(4) == 0 {
			buf = bytes.Repeat(buf, 100)
		}
		lit := randomText(r, 4)
		d, err := Literal(string(lit), false)
		if err != nil {
			t.Fatal(err)
		}
		var want [][2]int
		for start := 0; start < len(buf); {
			line, _, _ := bytes.Cut(buf[start:], []byte("\n"))
			if bytes.Contains(line, lit) {
				want = append(want, [2]int{start, start + len(line)})
			}
			start += len(line) + 1
		}
		compare(t, d, fmt.Sprintf("literal %q in %.200q", lit, buf), buf, want)
		if folded, _ := Literal("zK_s", true); folded.Count([]byte("Z\u212a_ſ\nzk_S\nzks\n")) != 2 {
			t.Fatal("folded literal")
		}
	}
}

func TestStops(t *testing.T) {
	d, _ := New(parse(t, "a+b"), Options{})
	buf, n := bytes.Repeat([]byte("aab\nxyz\n"), 20_000), 0
	d.Lines(buf, func(int, int) bool { n++; return n < 5 })
	if n != 5 {
		t.Errorf("yield called %d times", n)
	}
}

// TestOrder checks that a first segment that takes long delays the others.
func TestOrder(t *testing.T) {
	d, _ := New(parse(t, "a"), Options{})
	d.m.filter = filter{}
	buf := append(bytes.Repeat([]byte("x"), 1<<20), '\n')
	var want [][2]int
	for range 100_000 {
		want = append(want, [2]int{len(buf), len(buf) + 3})
		buf = append(buf, "xxa\n"...)
	}
	compare(t, d, "order", buf, want)
}

func TestConcurrent(t *testing.T) {
	d, _ := New(parse(t, `\w+_\w+[ \t]*\(|[a-c]{3}$`), Options{})
	d.m.maxStates = 12
	buf := bytes.Repeat([]byte("abc\nfoo_bar (x)\nnothing\nxabc \n"), 2000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				if n := d.Count(buf); n != 4000 {
					t.Errorf("got %d", n)
				}
				if got := d.Spans([]byte("a foo_bar( abc"), -1); !slices.Equal(got, [][2]int{{2, 10}, {11, 14}}) {
					t.Errorf("got %v", got)
				}
			}
		})
	}
	wg.Wait()
}

// TestSure checks lines with bytes of 0x80 or more, beside which a boundary may match
// or not. Only if that matters the slow matcher decides the line.
func TestSure(t *testing.T) {
	d, _ := New(parse(t, `\b\w+_init\b`), Options{})
	buf := []byte("é foo_init é\n\xff\x00x_init\x00\x80 foo_int\nfoo_inité\n\x80 é")
	if got := d.Count(buf[:bytes.LastIndex(buf, []byte("foo_in"))]); got != 2 {
		t.Errorf("got %d lines", got)
	}
	c := d.m.idle[0]
	if c.vm.cur.set.index != nil {
		t.Error("the slow matcher was asked where all is sure")
	}
	if got := d.Count(buf); got != 2 {
		t.Errorf("got %d lines with a word that goes on", got)
	}
	if c.vm.cur.set.index == nil {
		t.Error("the slow matcher was not asked")
	}
}

// TestSmallTable checks an automaton with most states beyond the small table. The small
// table is used again when they no longer are.
func TestSmallTable(t *testing.T) {
	d, _ := New(parse(t, `[a-q][^u-z]{10}x`), Options{})
	r := rand.New(rand.NewPCG(5, 6))
	var buf []byte
	for range 500_000 {
		buf = append(buf, "abcdefghijklmnopqrstuvwxyz    \n"[r.IntN(31)])
	}
	c, want := newCache(d.m), 0
	for line := range bytes.Lines(buf) {
		if c.crawl(text{bytes.TrimSuffix(line, []byte("\n")), false, false}) {
			want++
		}
	}
	if got := d.Count(buf); got != want || want == 0 {
		t.Errorf("got %d lines, want %d", got, want)
	}
	if c = d.m.idle[0]; !c.wide {
		t.Error("the small table is still used")
	}
	for range 100 {
		d.Count(bytes.Repeat([]byte("zzzzzz\n"), 10_000))
	}
	if c.wide {
		t.Error("the small table is no more used")
	}
	mixed := bytes.Clone(buf[:bytes.LastIndexByte(buf, '\n')+1])
	for len(mixed) < 4<<20 {
		mixed = append(mixed, "zzzzzz\n"...)
	}
	want = d.Count(mixed)
	for i := range 5 { // changes within a buffer
		if got := d.Count(bytes.Repeat(mixed, 3)); got != 3*want {
			t.Errorf("time %d: got %d lines, want %d", i, got, 3*want)
		}
	}
}

func TestSpans(t *testing.T) {
	for _, c := range []struct{ pattern, line string }{
		{`(?:|a)*`, "aab"}, {`(?:|a)+`, "aab"}, {`(?:|a)*b`, "aab"}, {`(?:a*?)*`, "aab"}, {`(?:|a|ab)*?b`, "aabab"},
	} {
		d, err := New(parse(t, c.pattern), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var want [][2]int
		for _, s := range regexp.MustCompile(c.pattern).FindAllStringIndex(c.line, -1) {
			want = append(want, [2]int{s[0], s[1]})
		}
		if got := d.Spans([]byte(c.line), -1); !slices.Equal(got, want) {
			t.Errorf("%s in %s: got %v, want %v", c.pattern, c.line, got, want)
		}
	}
	// A literal may begin inside a rune, also while another match is in progress.
	for text, want := range map[string][][2]int{"\xa9x": {{5, 7}}, "\xa9\xc3\xa9x": {{3, 7}}} {
		d, _ := Literal(text, false)
		if got := d.Spans([]byte("éééx"), -1); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	d, _ := New(parse(t, `\w+_\w+[ \t]*\(`), Options{})
	buf := bytes.Repeat([]byte("foo_bar (x)\nnothing\n"), 2000)
	n := 0
	yield := func(int, int) bool { n++; return true }
	if got := testing.AllocsPerRun(10, func() { d.Lines(buf, yield); d.Count(buf) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
