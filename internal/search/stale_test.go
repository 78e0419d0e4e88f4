package search

import (
	"context"
	coding "encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/search/source"
)

// TestTorn changes a file between a look at its stamp and its reading: the
// ranges of the index are not those of the new state.
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
	write(t, path, "bar one"+filler+"foo two\n") // the ends of lines are where they were
	if err := tree.run(context.Background(), q, p, a); err != nil || string(a.Text) != "\"f\":2001:\"foo two\"\n" {
		t.Errorf("%q, %v", a.Text, err)
	}
}

// TestTornWithin changes it while it is read.
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

// TestBehindMark: of a text behind a byte order mark a range is read, too.
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
	top, err := p.listing.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	w := worker{q: q, p: p, g: newGather(q, 1, false, a), top: top, reader: source.Get()}
	w.bind(context.Background())
	defer w.end()
	w.enter(p.jobs[0].dir)
	f, err := w.inState(context.Background(), p.jobs[0], "f")
	if err != nil {
		t.Fatal(err)
	}
	if string(f.text) != "\"f\":2001:\"foo\"\n" || w.bytes != p.ranges[0].End-p.ranges[0].Start {
		t.Errorf("%q of %d bytes", f.text, w.bytes)
	}
}

// TestDecodedNul: of a text that is decoded no range is read, not even if a NUL
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

// TestRestored: a file of the same size and time is another one all the same.
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

// TestAround: lines around a match may lie where no match can be.
func TestAround(t *testing.T) {
	s, dir := believing(t)
	plain := New(options(-1, dir))
	defer plain.Close()
	const lines = 1024 // of 128 bytes: 128 are a block of the index
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

// TestAroundChunks: lines before a match may lie in several chunks before.
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

// TestLateInFile: time is up within the only file.
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

// TestPickRest: what Pick is not asked about is picked, in a first search and later.
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
