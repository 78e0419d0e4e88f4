package search

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mcp-toolset/internal/search/index"
	"mcp-toolset/internal/search/match"
)

// checkFilter checks that the literals of a pattern exclude neither a matching line nor
// a matching text.
func checkFilter(t *testing.T, src string, o match.Options, text []byte) {
	t.Helper()
	m, err := match.Compile(src, o)
	if err != nil || m.Filter() == nil || len(text) == 0 {
		return
	}
	var store index.Store
	store.Put(0, new(index.Signer).Sign(text))
	filter := store.Filter(m.Filter())
	all := match.Text{Data: text, Begin: true, End: true}
	if m.Spanning() {
		if m.Any(all) && !filter.File(0) {
			t.Fatalf("%q %+v drops a text of %d bytes that matches", src, o, len(text))
		}
		return
	}
	for _, part := range [][]byte{text[len(text)/3:], text[:len(text)-len(text)/3]} {
		if m.Holds(part) && !m.Any(all) {
			t.Fatalf("%q %+v: %.100q holds a match, all of it does not", src, o, part)
		}
	}
	ranges, some := filter.AppendRanges(nil, 0)
	if some && len(ranges) == 0 {
		return // the whole text
	}
	m.Lines(all, func(start, end int) bool {
		for _, r := range ranges {
			if r.Start <= int64(start) && int64(end) <= r.End {
				if want := 1 + int64(bytes.Count(text[:r.Start], []byte{'\n'})); r.Line != want {
					t.Fatalf("%q %+v: a range begins in line %d, not %d", src, o, want, r.Line)
				}
				if part := text[r.From:min(r.To+int64(m.Reach()), r.End)]; !m.Near(part) {
					t.Fatalf("%q %+v: the line at %d has nothing near: %.100q", src, o, start, part)
				}
				return true
			}
		}
		t.Fatalf("%q %+v drops the line at %d: %.100q", src, o, start, text[start:end])
		return false
	})
}

func FuzzFilter(f *testing.F) {
	f.Add("foo|bar", false, false, []byte("xfoo\nbar\n"), uint(0))
	f.Add(`(?i)\u212Aelvin`, true, false, []byte("kelvin\n\u212Aelvin\n"), uint(16000))
	f.Add(`foo\s+bar`, false, true, []byte("foo\nbar"), uint(16380))
	f.Add(`re\w+rn (?:func|sub)s?$`, true, false, []byte("return \u017Fub\u017F\r\n"), uint(33000))
	f.Fuzz(func(t *testing.T, src string, fold, multi bool, text []byte, pad uint) {
		if len(src) > 200 || len(text) > 5000 {
			return
		}
		o := match.Options{Fold: fold, Multiline: multi}
		checkFilter(t, src, o, text)
		// Across the edges of blocks.
		long := append(bytes.Repeat([]byte("q\n"), int(pad%50000)/2), text...)
		checkFilter(t, src, o, append(long, "\nend\n"...))
	})
}

func TestFilter(t *testing.T) {
	f := &forest{Rand: rand.New(rand.NewPCG(5, 6)), wide: true, raw: true}
	for range filterCases {
		k := f.ask()
		text := f.text(30)
		if f.one(4) { // a line longer than a block
			text = append(append(text, strings.Repeat(f.word()+"__", 6000)...), f.text(30)...)
		}
		if f.one(4) { // far from the beginning and end of its first and last line
			far := bytes.Repeat([]byte("@"), f.IntN(100_000))
			text = slices.Concat(far, text, far)
		}
		text = append(bytes.Repeat([]byte("q\n"), f.IntN(10_000)), text...)
		checkFilter(t, k.pattern, match.Options{Fold: k.fold, Multiline: f.one(4)}, text)
	}
}
