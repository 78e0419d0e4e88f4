package dfa

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestNeedle compares with the obvious way on texts in which needles and near misses
// are frequent.
func TestNeedle(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const letters = "abAB[{@`_9\n\n\x0b\x80"
	random := func(n int) []byte {
		b := make([]byte, r.IntN(n))
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return b
	}
	for range randomCases {
		text, buf := string(random(6)), random(400)
		fold := r.IntN(2) == 0
		n := newNeedle(text, fold)
		if len(n.text) == 0 {
			if text != "" && !fold {
				t.Fatalf("no needle for %q", text)
			}
			continue
		}
		n.single = n.single || n.fold == nil && r.IntN(2) == 0
		from := r.IntN(len(buf) + 1)
		hay, want := string(buf), string(n.text)
		if fold {
			if !n.exact && len(n.text) == len(text) || !strings.Contains(lowerASCII(text), want) {
				t.Fatalf("%q is no needle of %q", n.text, text)
			}
			hay = lowerASCII(hay)
		}
		at := strings.Index(hay[from:], want)
		if at += from; at < from {
			at = len(buf)
		}
		if got, _, ok := n.find(buf, from, 1<<20); !ok || got != at {
			t.Fatalf("needle %+v of %q in %q from %d: got %d, want %d", n, text, buf, from, got, at)
		}
		if got, want := lastNewline(buf), bytes.LastIndexByte(buf, '\n'); got != want {
			t.Fatalf("last newline of %q: got %d, want %d", buf, got, want)
		}
	}
}

// TestPairSkip checks that skipped bytes have no pair. With wide registers all blocks of 64
// bytes before the first pair are skipped, otherwise none.
func TestPairSkip(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range randomCases {
		p := pair{x: 'q' * ones, y: 'z' * ones}
		if r.IntN(2) == 0 {
			p.foldX, p.foldY = 0x20*ones, 0x20*ones*uint64(r.IntN(2))
		}
		a := bytes.Repeat([]byte("qzQZ\x91\xfa")[r.IntN(6):][:1], 1+r.IntN(300))
		b := bytes.Repeat([]byte("abcd"), len(a)+1)[:len(a)+r.IntN(5)]
		first := len(a)
		if c := "zZ\xda"[r.IntN(3)]; r.IntN(4) > 0 {
			at := r.IntN(len(a))
			b[at] = c
			if a[at]|byte(p.foldX) == 'q' && c|byte(p.foldY) == 'z' {
				first = at
			}
		}
		want := 0
		if wide {
			want = first / 64 * 64
		}
		if got := p.skip(a, b); got != want {
			t.Fatalf("%d bytes of %d are skipped, not %d: the first pair is at %d", got, len(a), want, first)
		}
	}
}

func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}

// TestFoldedLiteral checks that k and s match their partners beyond ASCII.
func TestFoldedLiteral(t *testing.T) {
	for text, want := range map[string]int{"zK_s": 4, "_S": 4, "k": 4, "z": 4, "zk_sx": 1, "x\nz": 0} {
		d, _ := Literal(text, true)
		buf := []byte("zk_sX\nZK_S\nz\u212a_\u017f\nz\u212a_S\nno")
		if got := d.Count(buf); got != want {
			t.Errorf("%q: got %d lines, want %d", text, got, want)
		}
	}
}

// TestCredit checks that a filter whose needle is everywhere is given up, and used
// again in other texts.
func TestCredit(t *testing.T) {
	d, _ := New(parse(t, `q\d`), Options{Must: []string{"q"}})
	common, rare := bytes.Repeat([]byte("q q\n"), 1<<14), bytes.Repeat([]byte("other text\n"), 1<<14)
	if !d.m.filter.usable() {
		t.Fatal("no filter")
	}
	d.Count(common)
	c := d.m.idle[0]
	if c.credit >= maxCredit/2 {
		t.Errorf("credit %d after many lines in vain", c.credit)
	}
	for range 4 {
		d.Count(rare)
	}
	if c.credit < maxCredit/2 {
		t.Errorf("credit %d after many bytes without any", c.credit)
	}
}

// TestAround checks that a byte is found only between bytes that a match has there.
func TestAround(t *testing.T) {
	for _, tc := range []struct{ pattern, must, before, after string }{
		{`[0-9a]{2}-[0-9b]{2}`, "-", "0123456789a", "0123456789b"},
		{`x-?-+y*z`, "-", "-x", "-yz"},
		{`-a`, "-", "any", "a"},
		{`a-`, "-", "a", "any"},
		{`a\b-$`, "-", "a", "any"},
		{`(?:a|bc)-(?:d|(?:e|^f)g)`, "-", "ac", "def"},
		{`ab*-?c|d-e`, "-", "abd", "ce"},
		{`a(?:b-)?(?:-c)?`, "-", "-ab", "any"},
		{`(?:q|z-)*-`, "-", "any", "any"},
		{`aq1|bQ2`, "Q", "ab", "12"},
	} {
		d, err := New(parse(t, tc.pattern), Options{Must: []string{tc.must}, MustFold: true})
		if err != nil || len(d.m.filter.needles) != 1 {
			t.Fatalf("%s: %+v, %v", tc.pattern, d.m.filter, err)
		}
		a := d.m.filter.needles[0].around
		if before, after := listed(a.before), listed(a.after); before != tc.before || after != tc.after {
			t.Errorf("%s: %s around by %s, want %s and %s", tc.pattern, before, after, tc.before, tc.after)
		}
	}
	d, err := New(parse(t, `[0-9a]{2}-[0-9b]{2}`), Options{Must: []string{"-"}})
	if err != nil {
		t.Fatal(err)
	}
	if at, looks, _ := d.m.filter.needles[0].find([]byte("-1 2-c c-1 a-c 1-2"), 0, maxCredit); at != 16 || looks != 4 {
		t.Errorf("found at %d after %d looks", at, looks)
	}
	for text, want := range map[string]int{"-": 0, "12-34": 1, "-12-34-": 1, "a-b 1a-2b": 1, "1a-\n2b": 0, "12-3": 0, "2-34": 0, "--\n-\n11-11\n": 1} {
		if got := d.Count([]byte(text)); got != want {
			t.Errorf("%q: %d lines, want %d", text, got, want)
		}
	}
}

func listed(set *[256]bool) (s string) {
	if set == nil {
		return "any"
	}
	for b, ok := range set {
		if ok {
			s += string(rune(b))
		}
	}
	return s
}

// TestGivenUp checks that the automaton begins with a whole line when the filter is
// given up.
func TestGivenUp(t *testing.T) {
	d, _ := New(parse(t, `^a.*qaz`), Options{Must: []string{"qaz"}})
	if got := d.Count([]byte("a" + strings.Repeat(" qbz", 10_000) + "qaz\n")); got != 1 {
		t.Errorf("got %d lines", got)
	}
	if c := d.m.idle[0]; c.credit >= maxCredit/2 {
		t.Errorf("not given up: credit %d", c.credit)
	}
}
