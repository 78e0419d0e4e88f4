package index

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestRandom(t *testing.T) {
	t.Parallel()
	for i := range cases {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		text := randomText(r)
		for range 3 {
			clauses := randomClauses(r, text)
			check(t, text, clauses)
			if t.Failed() {
				t.Fatal("case", i)
			}
		}
	}
}

func FuzzSign(f *testing.F) {
	f.Add([]byte("one\ntwo\n"), uint16(0), uint16(5), "two", true)
	f.Add([]byte{}, uint16(0), uint16(0), "0", false)
	f.Add([]byte("ask\u212A"), uint16(blockSize-2), uint16(9), "ASKK", true)
	f.Fuzz(func(t *testing.T, piece []byte, before, after uint16, literal string, fold bool) {
		if fold {
			literal = strings.ToValidUTF8(literal, "")
		}
		text := slices.Concat(bytes.Repeat([]byte{'-'}, int(before)), piece, bytes.Repeat([]byte{'\n'}, int(after)), piece)
		check(t, text, [][]Literal{{{literal, fold}}})
	})
}

func FuzzQuery(f *testing.F) {
	for i := range uint64(8) {
		f.Add(i, uint64(0))
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		r := rand.New(rand.NewPCG(a, b))
		text := randomText(r)
		check(t, text, randomClauses(r, text))
	})
}

// words returns a text of numbered lines of words, so that each block differs.
func words(lines int) []byte {
	var b bytes.Buffer
	r := rand.New(rand.NewPCG(1, 2))
	for i := range lines {
		fmt.Fprintf(&b, "line %d has word%d and other%d\n", i, r.IntN(5000), r.IntN(5000))
	}
	return b.Bytes()
}

func literals(texts ...string) (clauses [][]Literal) {
	for _, s := range texts {
		clauses = append(clauses, []Literal{{Text: s}})
	}
	return clauses
}

func TestOnlyTheBlock(t *testing.T) {
	t.Parallel()
	text := words(30_000)
	at := 20*blockSize + 5000
	for _, fold := range []bool{false, true} {
		text := slices.Insert(slices.Clone(text), at, []byte("Unique_Name")...)
		kept := check(t, text, [][]Literal{{{"Unique_Name", fold}}})
		if kept < blockSize || kept > blockSize+200 {
			t.Errorf("fold %v: kept %d bytes for one block", fold, kept)
		}
		if kept := check(t, text, [][]Literal{{{"Unique_Game", fold}}}); kept > 2*blockSize {
			t.Errorf("fold %v: kept %d bytes for none", fold, kept)
		}
	}
	if kept := check(t, text, [][]Literal{{{Text: "UNIQUE_NAME"}}}); kept > blockSize {
		t.Errorf("kept %d bytes for the wrong case", kept)
	}
}

// TestReach checks that all grams looked up for a long literal are in the block of its
// first byte.
func TestReach(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(10, 11))
	base := bytes.Repeat([]byte("..............\n"), 3*blockSize/15)
	for range 50 {
		long := make([]byte, 80)
		for i := range long {
			long[i] = byte('0' + r.IntN(70))
		}
		for _, fold := range []bool{false, true} {
			text := slices.Clone(base)
			copy(text[2*blockSize-1:], long)
			check(t, text, [][]Literal{{{string(long), fold}}})
		}
	}
}

// TestCrossingLine checks that a line whose literals are in different blocks is in a
// range, and nothing else is.
func TestCrossingLine(t *testing.T) {
	t.Parallel()
	pad := strings.Repeat("some more words\n", 2*blockSize/16)
	for _, blocks := range []int{0, 1, 2, 5} {
		line := "Alpha " + strings.Repeat("-", 200+blocks*blockSize) + " Omega\n"
		text := []byte((pad + pad)[:3*blockSize-51] + "\n" + line + pad + "Alpha\n" + pad + "Omega\n")
		if kept := check(t, text, literals("Alpha", "Omega")); kept != int64(len(line)) {
			t.Errorf("line over %d blocks: kept %d bytes of a line of %d", blocks, kept, len(line))
		}
	}
}

// TestLineEndsWithBlock checks that a line end exactly between two blocks separates
// them.
func TestLineEndsWithBlock(t *testing.T) {
	t.Parallel()
	pad := strings.Repeat("some more words\n", blockSize/16)
	text := []byte(pad[:blockSize-6] + "Alpha\n" + pad[:160] + "Omega\n" + pad)
	if kept := check(t, text, literals("Alpha", "Omega")); kept != 0 {
		t.Errorf("kept %d bytes", kept)
	}
	text[blockSize-1] = ' '
	if kept := check(t, text, literals("Alpha", "Omega")); kept != 16-6+6+16 {
		t.Errorf("kept %d bytes, not one line", kept)
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	text := words(10_000)
	copy(text[5:], "Alpha")
	copy(text[9*blockSize:], "Omega")
	sig := Sign(text)
	q, _ := NewQuery(literals("Alpha", "Omega"))
	if !keepsFile(q, sig) {
		t.Error("File drops a text with both")
	}
	if r := appendRanges(q, nil, sig); len(r) != 0 {
		t.Errorf("ranges %v though no line has both", r)
	}
	q, _ = NewQuery(literals("Alpha", "Omikron"))
	if keepsFile(q, sig) {
		t.Error("File keeps a text with one")
	}
}

// TestOddRunes checks that text that folds to a text of another length is found
// anywhere.
func TestOddRunes(t *testing.T) {
	t.Parallel()
	base := words(2000)
	for _, tt := range []struct {
		text, literal string
		filters       bool
	}{
		{"\u212Aernel", "kernel", true},
		{"a\u017Fync", "ASYNC", true},
		{"kernel", "\u212Aernel", true},
		{strings.Repeat("\u212A", 22) + "abc", strings.Repeat("k", 22) + "abc", true},
		{strings.Repeat("\u1E9E", 20) + "Zbc", strings.Repeat("ß", 20) + "zBC", true},
		{strings.Repeat("\u1E9E", 25) + "Zbc", strings.Repeat("ß", 25) + "zBC", false},
	} {
		for shift := range 90 {
			text := slices.Clone(base)
			copy(text[blockSize-shift:], tt.text)
			kept := check(t, text, [][]Literal{{{tt.literal, true}}})
			if filters := kept < int64(len(text)); filters != tt.filters {
				t.Fatalf("%q: kept %d of %d bytes", tt.literal, kept, len(text))
			}
		}
	}
}

// TestOddBlocks checks that literals without k and s are looked up in odd blocks, too.
func TestOddBlocks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, literal string
		kept          bool
	}{
		{"\u017F \u212A", "qzxjvw", false},
		{"\u017F \u212A", "qzxjvws", false},
		{"\u017F \u212A", "kqzxjvw", false},
		{"\u017F \u212A", "qkz", true},
		{"\u017F \u212A", "SQK", true},
		{"qzx\u017Fjvw", "QZXSJVW", true},
		{"qzx\u212Ajvw", "qzxKjvw", true},
		{"qzx\u212Ajvw", "qzxKjwv", false},
	} {
		text := []byte("0123\n" + tt.text + "\n4567\n")
		if kept := check(t, text, [][]Literal{{{tt.literal, true}}}) > 0; kept != tt.kept {
			t.Errorf("%q for %q: kept %t", tt.text, tt.literal, kept)
		}
	}
}

func TestNoFilter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		clauses [][]Literal
		want    bool
	}{
		{"none", nil, false},
		{"empty clause", [][]Literal{{}}, false},
		{"short", literals("ab"), false},
		{"three", literals("abc"), true},
		{"short beside long", [][]Literal{{{Text: "abcd"}, {Text: "ab"}}}, false},
		{"short and long", literals("ab", "abc"), true},
		{"no ASCII", literals("日本"), true},
		{"no ASCII folded", [][]Literal{{{"日本", true}}}, false},
		{"folded", [][]Literal{{{"éabcé", true}}}, true},
		{"too many", [][]Literal{make([]Literal, maxLiterals+1)}, false},
	} {
		q, ok := NewQuery(tt.clauses)
		if ok != tt.want || (q != nil) != ok {
			t.Errorf("%s: %v", tt.name, ok)
		}
	}
	var q *Query
	text := words(1000)
	if r := appendRanges(q, nil, Sign(text)); len(r) != 1 || r[0] != (Range{0, int64(len(text)), 1, 0, int64(len(text))}) {
		t.Errorf("nil query: %v", r)
	}
	if !keepsFile(q, Sign(text)) || !keepsFile(q, Sign(nil)) {
		t.Error("nil query drops a file")
	}
}

func TestNothingKnown(t *testing.T) {
	t.Parallel()
	q, _ := NewQuery(literals("abc"))
	if r := appendRanges(q, nil, nil); len(r) != 1 || r[0] != (Range{0, math.MaxInt64, 1, 0, math.MaxInt64}) {
		t.Errorf("nil signature: %v", r)
	}
	if !keepsFile(q, nil) {
		t.Error("nil signature: not kept")
	}
	empty := Sign(nil)
	if empty == nil || keepsFile(q, empty) || len(appendRanges(q, nil, empty)) > 0 {
		t.Error("the empty text is not known to hold nothing")
	}
}

// TestAppend checks that ranges are appended to those of the file before, never merged
// with them.
func TestAppend(t *testing.T) {
	t.Parallel()
	q, _ := NewQuery(literals("word"))
	text := words(3000)
	dst := appendRanges(q, nil, Sign(text))
	dst = appendRanges(q, dst, Sign(text))
	dst = appendRanges(q, dst, Sign(text[:1000]))
	if len(dst) != 3 || dst[0] != dst[1] || dst[2].Line != 1 {
		t.Errorf("%v", dst)
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	random := make([]byte, 40*blockSize)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	for _, tt := range []struct {
		name string
		text []byte
		most int // permille of the text
	}{
		{"random", random, 127},
		{"words", words(30_000), 70},
		{"zeros", make([]byte, 40*blockSize), 3},
		{"small", []byte(strings.Repeat("int f(void) { return 0; } ", 40) + string(words(20))), 90},
	} {
		sig := Sign(tt.text)
		if sig.Size()*1000 > tt.most*len(tt.text) {
			t.Errorf("%s: %d bytes for %d", tt.name, sig.Size(), len(tt.text))
		}
		if sig.TextSize() != int64(len(tt.text)) {
			t.Errorf("%s: TextSize %d", tt.name, sig.TextSize())
		}
	}
}

// TestSignerReuse checks that a signature does not depend on the text signed before.
func TestSignerReuse(t *testing.T) {
	t.Parallel()
	var g Signer
	for i := range 200 {
		text := randomText(rand.New(rand.NewPCG(uint64(i), 9)))
		if !slices.Equal(g.Sign(text), Sign(text)) {
			t.Fatalf("text %d is signed in another way by a used signer", i)
		}
	}
}
