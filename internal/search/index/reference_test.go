package index

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// contains implements the meaning of a Literal in the obvious way.
func (l Literal) contains(text []byte) bool {
	if !l.Fold {
		return bytes.Contains(text, []byte(l.Text))
	}
	for i := range len(text) {
		if hasFoldedPrefix(text[i:], l.Text) {
			return true
		}
	}
	return l.Text == ""
}

func hasFoldedPrefix(text []byte, want string) bool {
	for _, w := range want {
		r, size := utf8.DecodeRune(text)
		if size == 0 || !inOrbit(r, w) {
			return false
		}
		text = text[size:]
	}
	return true
}

func inOrbit(a, b rune) bool {
	if a == b {
		return true
	}
	for f := unicode.SimpleFold(a); f != a; f = unicode.SimpleFold(f) {
		if f == b {
			return true
		}
	}
	return false
}

func satisfies(text []byte, clauses [][]Literal) bool {
	for _, c := range clauses {
		found := false
		for _, l := range c {
			found = found || l.contains(text)
		}
		if !found {
			return false
		}
	}
	return true
}

var abc = Sign([]byte("abc"))

// storeOf returns a store with one file, and blocks of other files before and after it.
func storeOf(sig Signature) *Store {
	var s Store
	for id := range uint32(columns + 10) {
		s.Put(id, abc)
	}
	s.Put(7, sig)
	return &s
}

// appendRanges is [Filter.AppendRanges] for one text. It returns the whole text as a
// range.
func appendRanges(q *Query, dst []Range, sig Signature) []Range {
	own := len(dst)
	dst, some := storeOf(sig).Filter(q).AppendRanges(dst, 7)
	switch {
	case !some || len(dst) > own:
		return dst
	case sig == nil:
		return append(dst, Range{0, math.MaxInt64, 1, 0, math.MaxInt64})
	case sig.TextSize() == 0:
		return dst // no line at all
	}
	return append(dst, Range{0, sig.TextSize(), 1, 0, sig.TextSize()})
}

// keepsFile is [Filter.File] for one text.
func keepsFile(q *Query, sig Signature) bool { return storeOf(sig).Filter(q).File(7) }

// check compares the result of a query on a text with its lines, and returns the number
// of bytes in the ranges.
func check(t *testing.T, text []byte, clauses [][]Literal) (kept int64) {
	t.Helper()
	q, ok := NewQuery(clauses)
	if ok != (q != nil) {
		t.Fatalf("NewQuery = %v, %v", q, ok)
	}
	sig := Sign(text)
	ranges := appendRanges(q, nil, sig)
	checkForm(t, text, ranges)
	for _, r := range ranges {
		kept += r.End - r.Start
	}
	next, matched := 0, false
	for start := 0; start < len(text); {
		end := len(text)
		if i := bytes.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i + 1
		}
		for next < len(ranges) && ranges[next].End <= int64(start) {
			next++
		}
		inside := next < len(ranges) && ranges[next].Start <= int64(start)
		if !inside || !matched { // that is slow, and TestLongLines checks all lines
			if line := bytes.TrimSuffix(text[start:end], []byte("\n")); satisfies(line, clauses) {
				matched = true
				if !inside {
					t.Fatalf("line at %d is in none of %v\nclauses %+v\n%.200q", start, ranges, clauses, line)
				}
				if ok && !hasRarest(text, start, start+len(line), ranges[next], q.Rarest()) {
					t.Fatalf("line at %d has none of %v where %v says\n%.200q", start, q.Rarest(), ranges[next], line)
				}
			}
		}
		start = end
	}
	if !keepsFile(q, sig) && (matched || satisfies(text, clauses)) {
		t.Fatalf("File drops a text of %d bytes that has %+v", len(text), clauses)
	}
	return kept
}

// hasRarest reports whether a line has one of the literals, beginning within From and
// To of r.
func hasRarest(text []byte, start, end int, r Range, literals []Literal) bool {
	for _, l := range literals {
		longest := utf8.UTFMax * len(l.Text) // in another case
		from, to := max(start, int(r.From)), min(end, int(min(r.To, math.MaxInt32))-1+longest)
		if from < to && l.contains(text[from:to]) {
			return true
		}
	}
	return false
}

// checkForm checks that ranges are in order, apart, of whole lines, and numbered
// correctly.
func checkForm(t *testing.T, text []byte, ranges []Range) {
	t.Helper()
	end := int64(-1)
	for _, r := range ranges {
		if r.Start <= end || r.End <= r.Start || r.End > int64(len(text)) {
			t.Fatalf("ranges %v of %d bytes", ranges, len(text))
		}
		if r.Start > 0 && text[r.Start-1] != '\n' || r.End < int64(len(text)) && text[r.End-1] != '\n' {
			t.Fatalf("range %v is not of whole lines", r)
		}
		if want := 1 + int64(bytes.Count(text[:r.Start], []byte("\n"))); r.Line != want {
			t.Fatalf("range %v begins at line %d", r, want)
		}
		end = r.End
	}
}

// alphabet holds runes that are hard to fold: K and S with their forms outside ASCII,
// runes whose other case is longer, and bytes that are not a rune.
var alphabet = []string{
	"a", "b", "c", "k", "K", "s", "S", "\u212A", "\u017F", "é", "É", "å", "\u212B", "ß", "ẞ",
	"_", "(", " ", "0", "@", "`", "\x00", "\xe2", "\xff", "日",
}

// randomText returns lines of all lengths, up to several blocks.
func randomText(r *rand.Rand) []byte {
	size := []int{0, 10, 3000, blockSize, 3 * blockSize, 5 * blockSize}[r.IntN(6)]
	size += r.IntN(200) - min(size, 100)
	line := []int{1, 40, 40, 1000, blockSize, 3 * blockSize}[r.IntN(6)]
	letters := 1 + r.IntN(len(alphabet))
	if r.IntN(2) == 0 {
		letters = min(letters, 7) // ASCII
	}
	odd := r.IntN(3) > 0 // odd runes are rare
	words := make([]string, 1+r.IntN(40))
	for i := range words {
		for range 1 + r.IntN(12) {
			letter := alphabet[r.IntN(letters)]
			if odd && (letter == "\u212A" || letter == "\u017F") {
				letter = "k"
			}
			words[i] += letter
		}
	}
	if odd {
		words[0] += "\u212A\u017F"
	}
	var text []byte
	for left := r.IntN(2*line) + 1; len(text) < size; left-- {
		word := words[r.IntN(len(words))]
		if odd && r.IntN(200) > 0 {
			word = words[len(words)-1]
		}
		if text, left = append(text, word...), left-len(word); left <= 0 {
			text, left = append(text, '\n'), r.IntN(2*line)+1
		}
	}
	return text
}

// cut takes a literal from text, mostly from one line, often from the edge of two
// blocks.
func cut(r *rand.Rand, text []byte, near int) Literal {
	if len(text) == 0 {
		return Literal{Text: "abc"}
	}
	at := r.IntN(len(text))
	switch {
	case near >= 0:
		at = min(max(near+r.IntN(300)-150, 0), len(text)-1)
	case r.IntN(2) == 0:
		at = r.IntN(len(text)/blockSize+1)*blockSize - r.IntN(80)
		at = min(max(at, 0), len(text)-1)
	}
	n := []int{2, 3, 4, 6, 10, 30, 70, 200}[r.IntN(8)] + r.IntN(3)
	l := Literal{Text: string(text[at:min(at+n, len(text))]), Fold: r.IntN(2) == 0}
	if i := strings.IndexByte(l.Text, '\n'); i > 0 && r.IntN(20) > 0 {
		l.Text = l.Text[:i]
	}
	if l.Fold {
		l.Text = refold(r, strings.ToValidUTF8(l.Text, ""))
	}
	return l
}

// refold replaces runes of s by others of their orbit.
func refold(r *rand.Rand, s string) string {
	var b strings.Builder
	for _, c := range s {
		for range r.IntN(3) {
			c = unicode.SimpleFold(c)
		}
		b.WriteRune(c)
	}
	return b.String()
}

func randomClauses(r *rand.Rand, text []byte) [][]Literal {
	clauses := make([][]Literal, 1+r.IntN(3))
	near := -1
	if len(text) > 0 && r.IntN(2) == 0 {
		near = r.IntN(len(text))
	}
	for i := range clauses {
		for range 1 + r.IntN(2) {
			l := cut(r, text, near)
			if r.IntN(6) == 0 {
				l.Text += "\x01absent"
			}
			clauses[i] = append(clauses[i], l)
		}
	}
	return clauses
}

// TestLongLines checks that a line over several blocks is in a range if its required
// literals are in any of them, and that From and To are correct.
func TestLongLines(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	clauses := [][]Literal{{{"needle", false}, {"STRAW", true}}, {{"haystack", false}}}
	q, _ := NewQuery(clauses)
	wide := 0
	for range 300 {
		text := bytes.Repeat([]byte(". "), 1+r.IntN(6*blockSize))
		for range r.IntN(6) {
			text[r.IntN(len(text))] = '\n'
		}
		for range r.IntN(5) {
			for _, word := range []string{"needle", "straW", "haystack"} {
				if at := r.IntN(len(text) + 1); r.IntN(3) > 0 {
					if r.IntN(2) == 0 { // at an edge of blocks
						at = at/blockSize*blockSize - r.IntN(10)
					}
					copy(text[min(max(at, 0), len(text)):], word)
				}
			}
		}
		ranges := appendRanges(q, nil, Sign(text))
		checkForm(t, text, ranges)
		start := 0
		for line := range bytes.Lines(text) {
			if satisfies(line, clauses) && !slices.ContainsFunc(ranges, func(p Range) bool {
				return p.Start <= int64(start) && int64(start+len(line)) <= p.End && hasRarest(text, start, start+len(line), p, q.Rarest())
			}) {
				t.Fatalf("line at %d of %d bytes: no range of %v says where it has %v", start, len(line), ranges, q.Rarest())
			}
			start += len(line)
		}
		if slices.ContainsFunc(ranges, Range.Wide) {
			wide++
		}
	}
	if wide == 0 {
		t.Error("no range is wide")
	}
}
