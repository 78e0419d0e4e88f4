package search

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestPages checks that the pages of random queries together are the whole answer, with
// and without an index.
func TestPages(t *testing.T) {
	eachSeed(t, pageSet, func(t *testing.T, seed uint64) {
		f := newForest(t, 2000+seed)
		f.grow()
		indexed, plain := New(options(0, f.dir)), New(options(-1, f.dir))
		defer indexed.Close()
		defer plain.Close()
		believe(t, indexed, f.dir)
		search(t, indexed, f.dir, asked{pattern: "x"}.query(t))
		indexed.build.Wait()
		for range 10 {
			k := f.ask()
			whole := search(t, plain, f.dir, k.query(t))
			size := 1 + whole.Total/12 + f.IntN(whole.Total+2)
			var text []byte
			var files []File
			for k.offset, k.limit = 0, size; k.offset < whole.Total+size; k.offset += size {
				s := pick(f, indexed, plain)
				a := search(t, s, f.dir, k.query(t))
				if a.Total != whole.Total || a.Hits != whole.Hits || a.Matched != whole.Matched || a.More || a.Incomplete != "" {
					t.Fatalf("%v, offset %d limit %d: Total %d, Hits %d, Matched %d of %d, %d, %d", k, k.offset, size, a.Total, a.Hits, a.Matched, whole.Total, whole.Hits, whole.Matched)
				}
				if bytes.HasPrefix(a.Text, []byte(Gap)) {
					t.Fatalf("%v, offset %d: the page begins with a gap", k, k.offset)
				}
				// The gap between pages is in neither of them.
				if bytes.HasPrefix(whole.Text[min(len(text), len(whole.Text)):], []byte(Gap)) && len(a.Text) > 0 {
					text = append(text, Gap...)
				}
				text, files = append(text, a.Text...), append(files, a.Files...)
			}
			if !bytes.Equal(text, whole.Text) || !slices.Equal(files, whole.Files) {
				t.Fatalf("%v, limit %d: the pages are\n%s%v\nthe whole is\n%s%v", k, size, text, files, whole.Text, whole.Files)
			}
			// Without a limit, all entries after the offset are returned.
			k.offset, k.limit = f.IntN(whole.Total+1), 0
			a := search(t, pick(f, indexed, plain), f.dir, k.query(t))
			if !bytes.HasSuffix(whole.Text, a.Text) || k.mode != Lines && !slices.Equal(a.Files, whole.Files[k.offset:]) ||
				k.mode == Lines && entriesOf(a.Text) != whole.Total-k.offset || a.Total != whole.Total {
				t.Fatalf("%v: from offset %d on:\n%s%v\nthe whole is\n%s%v", k, k.offset, a.Text, a.Files, whole.Text, whole.Files)
			}
		}
	})
}

func entriesOf(text []byte) int {
	return bytes.Count(text, []byte{'\n'}) - strings.Count("\n"+string(text), "\n"+Gap)
}

// TestGapIsNoText checks that a line that looks like a gap is treated as a line.
func TestGapIsNoText(t *testing.T) {
	q := asked{pattern: "x", mode: Lines, after: 1}.query(t)
	q.Line = func(dst []byte, _ string, _ int, text []byte, _ int) []byte {
		return append(append(dst, text...), '\n')
	}
	q.Offset, q.Limit = 1, 5
	s := New(options(-1, t.TempDir()))
	defer s.Close()
	text := "x\n--\n\n\nx\n"
	a, err := s.File(context.Background(), q, strings.NewReader(text), int64(len(text)), "f")
	if want := "--\n--\nx\n"; err != nil || string(a.Text) != want {
		t.Errorf("%q, %v; want %q", a.Text, err, want)
	}
}

// TestMore checks that the rest is not searched if a page is full early, and that
// otherwise the total is right.
func TestMore(t *testing.T) {
	dir := t.TempDir()
	const files = countOn + 500
	for i := range files {
		write(t, filepath.Join(dir, "f"+string(rune('a'+i%26)), "n"+strings.Repeat("x", i/26)), "foo\nfoo\n")
	}
	s := New(options(-1, dir))
	defer s.Close()
	for _, c := range []struct {
		mode          Mode
		offset, limit int
		more          bool
		total         int
	}{
		{Lines, 0, 10, true, 0},
		{Lines, 2*files - 500, 10, false, 2 * files},
		{Lines, 0, 0, false, 2 * files},
		{Counts, 0, 10, false, files},
		{Names, 0, 10, false, files}, // cold: all must be read to know the newest
	} {
		a := search(t, s, dir, asked{pattern: "foo", mode: c.mode, offset: c.offset, limit: c.limit}.query(t))
		if a.More != c.more || !c.more && (a.Total != c.total || a.Hits < a.Matched) || c.more && a.Total < c.offset+c.limit {
			t.Errorf("%+v: More %t, Total %d, Hits %d", c, a.More, a.Total, a.Hits)
		}
	}
}

// TestTurn checks that a file whose text is so long that it waits for its turn can
// follow files without results, of the same worker and of others.
func TestTurn(t *testing.T) {
	dir := t.TempDir()
	const lines = turnText / 12 // shown; each file has more
	long := strings.Repeat("foo\n", lines)
	for i := range 96 {
		text := "bar\n"
		if i%16 == 15 {
			text = long
		}
		write(t, filepath.Join(dir, fmt.Sprintf("%02d", i)), text)
	}
	s := New(options(-1, dir))
	defer s.Close()
	s.workers = 2 // with batches of 6, and of 4 for a page
	for _, limit := range []int{0, 6 * lines} {
		done := make(chan *Answer, 1)
		q := asked{pattern: "foo", mode: Lines, offset: 1, limit: limit}.query(t)
		go func() {
			a, _ := s.Tree(dir, opener(dir)).Search(context.Background(), q)
			done <- a
		}()
		select {
		case a := <-done:
			if a == nil || a.Matched != 6 || a.Total != 6*lines {
				t.Errorf("limit %d: %+v", limit, a)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("a worker waits for what it has not put")
		}
	}
}

// TestPutNext checks that the worker with the next job does not wait while many results
// do.
func TestPutNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGather(asked{pattern: "foo", mode: Lines}.query(t), 10, false, new(Answer))
		g.held = maxWaiting + 1
		put := make(chan bool)
		go func() {
			g.deliver(4, 6, nil)
			close(put)
		}()
		synctest.Wait()
		select {
		case <-put:
			t.Error("the job behind does not wait")
		default:
		}
		g.deliver(0, 4, nil)
		<-put
		if g.next != 6 {
			t.Errorf("the next is %d", g.next)
		}
	})
}

// TestLate checks that the results found by the deadline are the answer, in order. That
// includes results after an unfinished file, and those in progress.
func TestLate(t *testing.T) {
	shown := func(path string) *found {
		return &found{path: path, hits: 1, shown: 1, text: []byte(path), entries: []entry{{0, len(path)}}}
	}
	for _, tc := range []struct {
		mode  Mode
		limit int
		want  string
	}{{Lines, 0, "acd"}, {Counts, 0, "acd"}, {Lines, 2, "ac"}, {Names, 2, "ac"}} {
		g := newGather(asked{pattern: "foo", mode: tc.mode, limit: tc.limit}.query(t), 6, false, new(Answer))
		g.deliver(4, 5, shown("d"))
		g.deliver(2, 4, shown("c"))
		g.stop(late)
		if skip, keep := g.window(1); skip != 0 || keep < len(tc.want)-1 {
			t.Errorf("%+v: entries %d to %d are kept", tc, skip, keep)
		}
		g.deliver(0, 1, shown("a"))
		g.end()
		got := string(g.answer.Text)
		for _, f := range g.answer.Files {
			got += f.Path
		}
		if got != tc.want || g.answer.Incomplete != late || g.answer.Matched != 3 {
			t.Errorf("%+v: %q, %+v", tc, got, g.answer)
		}
	}
}

// TestNewestFirst checks that names are in the order of their times, then of paths,
// with and without an index.
func TestNewestFirst(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	var want []string
	for i, p := range []string{"b", "a/z", "a", "c/d/e", "B", "é"} {
		for j := range 3 {
			path := p + string(rune('0'+j))
			write(t, filepath.Join(dir, path), "foo")
			at := now.Add(-time.Duration(i/2) * time.Hour)
			if err := os.Chtimes(filepath.Join(dir, path), at, at); err != nil {
				t.Fatal(err)
			}
			want = append(want, path)
		}
	}
	for i := 0; i < len(want); i += 6 {
		slices.SortFunc(want[i:i+6], func(a, b string) int { return cmp.Compare(a, b) })
	}
	s := New(options(0, dir))
	defer s.Close()
	for _, pattern := range []string{"foo", ".", "foo"} { // the second has nothing to filter by
		for _, limit := range []int{0, 4, 100} {
			a := search(t, s, dir, asked{pattern: pattern, limit: limit}.query(t))
			var have []string
			for _, f := range a.Files {
				have = append(have, f.Path)
			}
			full := want
			if limit > 0 {
				full = want[:min(limit, len(want))]
			}
			if !slices.Equal(have, full) || a.Total != len(want) {
				t.Errorf("%s, limit %d: %q of %d, want %q", pattern, limit, have, a.Total, full)
			}
		}
		s.build.Wait()
	}
	found, err := s.Tree(dir, opener(dir)).Names(context.Background(), &Query{Pick: func(string, string) bool { return true }})
	if err != nil || !slices.Equal(found.Files, want) {
		t.Errorf("Names: %q, %v, want %q", found.Files, err, want)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
