package dfa

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestBitset compares with the exact matcher, with one word and with several.
func TestBitset(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, pattern := range []string{`^ab|cc`, `\Aab|^b`, `a[^b]{3}c`, `[ab].{70}c`, `(?:a|bc)*ca`, `(?i:k)a|é`, `a*^b`} {
		d, _ := New(parse(t, pattern), Options{})
		c := d.m.get()
		b := c.bitsOf()
		if b == nil {
			t.Fatalf("%s: no bitset", pattern)
		}
		for range 300 {
			line := make([]byte, r.IntN(100))
			for i := range line {
				line[i] = "abck"[r.IntN(4)]
			}
			l := text{line, r.IntN(2) == 0, true}
			got, known := b.match(l)
			if want := c.crawl(l); !known || got != want {
				t.Fatalf("%s in %s, %v: got %v, want %v", pattern, line, l.begin, got, want)
			}
		}
		if _, known := b.match(text{[]byte("xé"), false, false}); known {
			t.Errorf("%s: decided a line that is not ASCII", pattern)
		}
	}
	for _, pattern := range []string{`a$`, `\ba`, fmt.Sprintf("a%s", strings.Repeat("[ab]", maxBits))} {
		d, _ := New(parse(t, pattern), Options{})
		if d.m.get().bitsOf() != nil {
			t.Errorf("%.20s: has a bitset", pattern)
		}
	}
}
