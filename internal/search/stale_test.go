package search

import (
	"context"
	coding "encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/search/index"
	"mcp-toolset/internal/search/source"
	"mcp-toolset/internal/testscale"
)

// TestTorn changes a file after a look at its stamp and before its reading: the ranges
// of the index are not those of the new state.
func TestTorn(t *testing.T) {
	s, dir := believing(t)
	path := filepath.Join(dir, "f")
	filler := strings.Repeat(strings.Repeat("@", 99)+"\n", 2000)
	write(t, path, "foo one"+filler)
	search(t, s, dir, asked{pattern: "foo"}.query(t))
	s.build.Wait()
	q := asked{pattern: "foo", mode: Lines}.query(t)
	tree, a := s.Tree(dir, opener(dir)), new(Answer)
	p, err := tree.plan(context.Background(), q, a)
	if err != nil || len(p.ranges) != 1 {
		t.Fatalf("the plan has ranges %v, %v", p.ranges, err)
	}
	write(t, path, "bar one"+filler+"foo two\n") // lines still end at the same offsets
	if err := tree.run(context.Background(), q, p, a); err != nil || string(a.Text) != "\"f\":2001:\"foo two\"\n" {
		t.Errorf("%q, %v", a.Text, err)
	}
}

// TestTornWithin changes a file while it is read.
func TestTornWithin(t *testing.T) {
	s, dir := believing(t)
	path := filepath.Join(dir, "f")
	filler := strings.Repeat(strings.Repeat("@", 99)+"\n", 2000)
	write(t, path, "foo one"+filler)
	search(t, s, dir, asked{pattern: "foo"}.query(t))
	s.build.Wait()
	q, lines := asked{pattern: "foo", mode: Lines}.query(t), 0
	q.Line = func(dst []byte, path string, n int, text []byte, at int) []byte {
		if lines++; lines == 1 {
			write(t, filepath.Join(dir, path), "foo one"+filler+"foo two\n")
		}
		return quotedLine(dst, path, n, text[:min(len(text), 7)], at)
	}
	if a := search(t, s, dir, q); string(a.Text) != "\"f\":1:\"foo one\"\n\"f\":2001:\"foo two\"\n" || lines != 3 {
		t.Errorf("%q", a.Text)
	}
}

// TestTornOut changes a file after some of its text was written to Out.
func TestTornOut(t *testing.T) {
	s, dir := believing(t)
	lines := strings.Repeat("foo and more of a line that is not short\n", 60_000)
	write(t, filepath.Join(dir, "f"), lines)
	search(t, s, dir, asked{pattern: "foo"}.query(t))
	s.build.Wait()
	q, out, changed := asked{pattern: "foo", mode: Lines}.query(t), new(spool), false
	q.Line = func(dst []byte, path string, _ int, text []byte, _ int) []byte {
		if out.Len() > 0 && !changed {
			changed = true
			write(t, filepath.Join(dir, path), "foo one\n"+lines)
		}
		return append(append(dst, text...), '\n')
	}
	q.Out = out
	if a := search(t, s, dir, q); !changed || out.String() != "foo one\n"+lines {
		t.Errorf("%d lines, %d bytes, changed: %t", a.Total, out.Len(), changed)
	}
}

// TestBehindMark checks that a range is read of a text after a byte order mark.
func TestBehindMark(t *testing.T) {
	s, dir := believing(t)
	filler := strings.Repeat(strings.Repeat("@", 99)+"\n", 2000)
	write(t, filepath.Join(dir, "f"), "\uFEFF"+filler+"foo\n"+filler)
	search(t, s, dir, asked{pattern: "foo"}.query(t))
	s.build.Wait()
	q, a := asked{pattern: "foo", mode: Lines}.query(t), new(Answer)
	p, err := s.Tree(dir, opener(dir)).plan(context.Background(), q, a)
	if err != nil || len(p.jobs) != 1 || len(p.ranges) != 1 {
		t.Fatalf("the plan has jobs %v, ranges %v, %v", p.jobs, p.ranges, err)
	}
	f, bytes := inState(t, q, p)
	if string(f.text) != "\"f\":2001:\"foo\"\n" || bytes != p.ranges[0].End-p.ranges[0].Start {
		t.Errorf("%q of %d bytes", f.text, bytes)
	}
}

// inState searches the file of a plan's only job, and returns the number of bytes read.
func inState(t *testing.T, q *Query, p *plan) (*found, int64) {
	t.Helper()
	top, err := p.listing.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	w := worker{q: q, p: p, g: newGather(q, 1, false, new(Answer)), top: top, reader: source.Get()}
	w.bind(t.Context())
	defer w.end()
	j := p.jobs[0]
	w.enter(j.dir)
	f, err := w.inState(t.Context(), j, p.listing.Dirs[j.dir].Files[j.file].Name)
	if err != nil {
		t.Fatal(err)
	}
	return f, w.bytes
}

// TestNear checks how much is read of a line of many blocks. It is only the part near
// the block that can match, if that part does not match, or if the file is binary and
// the pattern is a literal.
func TestNear(t *testing.T) {
	// They have the same grams.
	const other, text = "abcde bcdef", "abcdef"
	far := strings.Repeat("@", 500_000)
	for _, tc := range testscale.Sample([]struct {
		name, text, want string
		bytes            int64 // upper bound
	}{
		{"other", far + other + far, "", 20_000},
		{"match", far + text + far, `"f":1:"` + far + text + far + `"` + "\n", 2 << 20},
		{"behind lines", "\n\n" + far + other + far + "\n", "", 20_000},
		{"behind a mark", "\uFEFF" + far + other + far, "", 20_000},
		{"match behind a mark", "\uFEFF\n" + far + text + far, `"f":2:"` + far + text + far + `"` + "\n", 2 << 20},
		{"one of two", far + other + far + strings.Repeat("\n", 50_000) + far + text + "\n", `"f":50001:"` + far + text + `"` + "\n", 600_000},
		{"two lines of one range", other + "\n" + far + text + far, `"f":2:"` + far + text + far + `"` + "\n", 2 << 20},
		{"end behind a mark", "\uFEFF" + far + text, `"f":1:"` + far + text + `"` + "\n", 2 << 20},
		{"two parts of a line", far + other + far + other + far, "", 2 << 20},
		{"binary", "\x00" + far + other + far, "", 20_000},
		{"binary match", "\x00" + far + text + far, "\"f\" binary\n", 20_000},
		{"binary match behind another", "\x00" + far + other + far + strings.Repeat("\n", 50_000) + far + text + far, "\"f\" binary\n", 40_000},
		{"binary, where a line is cut", "\x00" + strings.Repeat("@", 16<<20-3) + text + far, "", 20 << 20},
		{"where blocks meet", far[:16<<10-3] + text + far, `"f":1:"` + far[:16<<10-3] + text + far + `"` + "\n", 2 << 20},
	}, 6) {
		s, dir := believing(t)
		write(t, filepath.Join(dir, "f"), tc.text)
		search(t, s, dir, asked{pattern: text}.query(t))
		s.build.Wait()
		q := asked{pattern: text, mode: Lines}.query(t)
		p, err := s.Tree(dir, opener(dir)).plan(t.Context(), q, new(Answer))
		if err != nil || len(p.jobs) != 1 {
			t.Fatalf("%s: the plan has jobs %v, %v", tc.name, p.jobs, err)
		}
		got := ""
		f, bytes := inState(t, q, p)
		if f != nil {
			got = string(f.text)
		}
		if got != tc.want || bytes == 0 || bytes > tc.bytes {
			t.Errorf("%s: %.40q… of %d bytes", tc.name, got, bytes)
		}
	}
}

// TestNearFails checks that a file that cannot be read is not treated as one without
// matches.
func TestNearFails(t *testing.T) {
	failed := errors.New("failed")
	p := &plan{ranges: []index.Range{{End: 1 << 20, Line: 1, To: 1}}}
	w := worker{q: asked{pattern: "foo", mode: Lines}.query(t), p: p, reader: source.Get()}
	w.g = newGather(w.q, 1, false, new(Answer))
	w.bind(t.Context())
	defer w.end()
	for _, k := range []kind{signed, binary} {
		w.part = []byte("foo") // of another file
		if f, err := w.parts(t.Context(), job{known: k, to: 1}, failing{failed}, 1<<20, "f"); f != nil || !errors.Is(err, failed) {
			t.Errorf("%d: %v, %v", k, f, err)
		}
	}
}

type failing struct{ error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.error }

// TestDecodedNul checks that no range is read of a decoded text, not even if a NUL
// makes it a binary file.
func TestDecodedNul(t *testing.T) {
	for _, order := range []coding.AppendByteOrder{coding.LittleEndian, coding.BigEndian} {
		for _, at := range []int{0, 8192, 60_000} {
			s, dir := believing(t)
			text := []byte(strings.Repeat("@@@@@@@\n", 8208) + "\x00\n")
			copy(text[at:], "foo")
			raw := order.AppendUint16(nil, 0xFEFF)
			for _, b := range text {
				raw = order.AppendUint16(raw, uint16(b))
			}
			write(t, filepath.Join(dir, "f"), string(raw))
			for _, state := range []string{"first", "later"} {
				a := search(t, s, dir, asked{pattern: "foo", mode: Lines}.query(t))
				if string(a.Text) != "\"f\" binary\n" || a.Unreadable != 0 {
					t.Errorf("%v, at %d, %s: %q, %d unreadable", order, at, state, a.Text, a.Unreadable)
				}
				s.build.Wait()
			}
		}
	}
}

func believing(t *testing.T) (s *Searcher, dir string) {
	t.Helper()
	dir = t.TempDir()
	s = New(options(0, dir))
	t.Cleanup(func() { s.Close() })
	believe(t, s, dir)
	return s, dir
}

// TestRestored checks that a changed file of the same size and time is noticed.
func TestRestored(t *testing.T) {
	s, dir := believing(t)
	path := filepath.Join(dir, "f")
	for i, text := range []string{"foo\n", "bar\n", "baz\n"} {
		at := time.Unix(1e9, 0)
		write(t, path, text)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		for _, pattern := range []string{"foo", "bar", "baz"} {
			want := 0
			if strings.HasPrefix(text, pattern) {
				want = 1
			}
			if a := search(t, s, dir, asked{pattern: pattern}.query(t)); a.Total != want {
				t.Errorf("state %d, %s: %d files", i, pattern, a.Total)
			}
			s.build.Wait()
		}
	}
}

// TestAround checks that lines around a match may be where no match can be.
func TestAround(t *testing.T) {
	s, dir := believing(t)
	plain := New(options(-1, dir))
	defer plain.Close()
	const lines = 1024 // of 128 bytes: 128 lines are a block of the index
	for i, at := range []int{0, 127, 128, 255, 511, 1023} {
		text := []byte(strings.Repeat(strings.Repeat("@", 127)+"\n", lines))
		copy(text[at*128:], "foo")
		write(t, filepath.Join(dir, fmt.Sprint(i)), string(text))
	}
	search(t, s, dir, asked{pattern: "foo"}.query(t))
	s.build.Wait()
	for _, k := range []asked{{}, {before: 2}, {after: 2}, {before: 200, after: 300}} {
		k.pattern, k.mode = "foo", Lines
		if diff := differ(search(t, plain, dir, k.query(t)), search(t, s, dir, k.query(t))); diff != "" {
			t.Errorf("%v: %s", k, diff)
		}
	}
}

// TestAroundChunks checks that lines before a match may be in several chunks before.
func TestAroundChunks(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	for i := range 25 {
		fmt.Fprintf(&b, "%d\n", i)
		b.WriteString(strings.Repeat("@", 800<<10) + "\n")
	}
	b.WriteString("foo\n")
	write(t, filepath.Join(dir, "f"), b.String())
	s := New(options(-1, dir))
	defer s.Close()
	q := asked{pattern: "foo", mode: Lines, before: 9}.query(t)
	q.Line = func(dst []byte, _ string, n int, text []byte, _ int) []byte {
		return fmt.Appendf(dst, "%d %.3s\n", n, text)
	}
	const want = "42 @@@ 43 21 44 @@@ 45 22 46 @@@ 47 23 48 @@@ 49 24 50 @@@ 51 foo"
	if got := strings.Join(strings.Fields(string(search(t, s, dir, q).Text)), " "); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLateInFile checks a deadline that passes within the only file.
func TestLateInFile(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "foo\n"+strings.Repeat(strings.Repeat("@", 99)+"\n", 180_000))
	s := New(options(-1, dir))
	defer s.Close()
	ctx, late := context.WithCancel(context.Background())
	q := asked{pattern: "foo", mode: Lines}.query(t)
	q.Line = func(dst []byte, path string, n int, text []byte, at int) []byte {
		late()
		return quotedLine(dst, path, n, text, at)
	}
	tree, a := s.Tree(dir, opener(dir)), new(Answer)
	p, err := tree.plan(ctx, q, a)
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.run(ctx, q, p, a); err != context.Canceled || a.Incomplete == "" || a.Total != 1 || a.Unreadable != 0 {
		t.Errorf("incomplete %q, Total %d, %d unreadable, %v", a.Incomplete, a.Total, a.Unreadable, err)
	}
}

// TestPickRest checks that files for which Pick is not called are picked, in a first
// search and later.
func TestPickRest(t *testing.T) {
	s, dir := believing(t)
	const folders, each = 12, 5
	for i := range folders * each {
		write(t, filepath.Join(dir, fmt.Sprintf("d%02d", i/each), fmt.Sprintf("f%d", i%each)), "foo\n")
	}
	for _, state := range []string{"first", "later"} {
		asks := 0
		q := asked{pattern: "foo"}.query(t)
		q.Pick = func(dir, name string) bool { asks++; return name != "f0" }
		q.Rest = func() bool { return asks > 2*each }
		if a := search(t, s, dir, q); a.Total != folders*each-3 || asks != 3*each {
			t.Errorf("%s: %d files of %d, %d asked about", state, a.Total, folders*each, asks)
		}
		s.build.Wait()
	}
}
