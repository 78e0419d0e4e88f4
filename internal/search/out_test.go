package search

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"mcp-toolset/internal/testscale"
)

// spool is an Out in memory that records the largest write.
type spool struct {
	bytes.Buffer
	most int
}

func (s *spool) Write(p []byte) (int, error) {
	s.most = max(s.most, len(p))
	return s.Buffer.Write(p)
}

func (s *spool) Mark() (undo func()) {
	size := s.Len()
	return func() { s.Truncate(size) }
}

// TestOut checks that text written as it is found is the same as the text of an answer,
// whatever files turn out to be at their ends, and that little of it is in memory at a
// time.
func TestOut(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	lines := testscale.N(40_000, 60_000) // a file of them has twice the text that may be in memory
	for i := range lines {
		fmt.Fprintf(&b, "%d foo and more of a line that is not short\n", i)
		if i%7 == 0 {
			b.WriteString("nothing\nnothing\nnothing\n")
		}
	}
	large := b.String()
	for name, text := range map[string]string{
		"a": "foo\n", "b": large, "c": large + "foo \x00", "d": "foo\nbar\n", "e": large, "f": large, "g": "foo",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	s := New(Options{})
	defer s.Close()
	for range 2 { // the second time with records of the files
		for _, around := range []int{0, 1} {
			for _, offset := range []int{0, lines * 7 / 6} {
				for _, path := range []string{"", "b"} {
					query := func() *Query {
						q := foo(t)
						q.Mode, q.Limit, q.Offset, q.Before, q.After = Lines, 0, offset, around, around
						q.Line = func(dst []byte, path string, n int, line []byte, _ int) []byte {
							return append(fmt.Appendf(dst, "%s:%d:", path, n), append(line, '\n')...)
						}
						q.Binary = func(dst []byte, path string) []byte { return append(dst, path+": binary\n"...) }
						q.Show = func(path string) bool { return path != "e" }
						return q
					}
					run := func(q *Query) *Answer {
						if path == "" {
							a, err := s.Tree(dir, opener(dir)).Search(t.Context(), q)
							if err != nil {
								t.Fatal(err)
							}
							return a
						}
						a, err := s.File(t.Context(), q, strings.NewReader(large), int64(len(large)), path)
						if err != nil {
							t.Fatal(err)
						}
						return a
					}
					kept, given, out := run(query()), query(), new(spool)
					given.Out = out
					a := run(given)
					if a.Total != kept.Total || a.Matched != kept.Matched || a.Incomplete != "" || len(a.Text) > 0 || out.String() != string(kept.Text) {
						t.Errorf("around %d, offset %d, %q: %d bytes of %d lines, want %d of %d; %s", around, offset, path, out.Len(), a.Total, len(kept.Text), kept.Total, a.Incomplete)
					}
					if out.most > 2*turnText {
						t.Errorf("%d bytes at once", out.most)
					}
				}
			}
		}
		s.build.Wait()
	}
}

// TestLostOut loses the tree in the middle of a search. It checks that what the search
// wrote is removed, and that what the abandoned search finds later is not written.
func TestLostOut(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "foo\n")
	write(t, filepath.Join(dir, "b"), "foo\n")
	s := New(Options{})
	defer s.Close()
	s.workers = 1
	tree, out := s.Tree(dir, opener(dir)), new(spool)
	again, behind := make(chan struct{}), make(chan struct{})
	runs := map[string]int{}
	q := asked{pattern: "foo", mode: Lines}.query(t)
	q.Line = func(dst []byte, path string, _ int, _ []byte, _ int) []byte {
		switch runs[path]++; {
		case path == "b" && runs[path] == 1:
			s.dropTree(tree)
			<-again
			defer close(behind)
		case path == "a" && runs[path] == 2:
			close(again)
			<-behind
		}
		return append(dst, path+"\n"...)
	}
	q.Out = out
	if a, err := tree.Search(t.Context(), q); err != nil || a.Total != 2 || out.String() != "a\nb\n" {
		t.Errorf("%+v, %v, %q", a, err, out.String())
	}
}

// TestAbandoned checks that a search that is abandoned, or whose answer was returned,
// adds nothing.
func TestAbandoned(t *testing.T) {
	late := &found{path: "b", hits: 1, shown: 1, text: []byte("b\n"), entries: []entry{{0, 2}}}
	for name, end := range map[string]func(*gather, *Query){
		"abandoned": func(g *gather, _ *Query) { g.abandon() },
		"frozen":    func(g *gather, q *Query) { g.freeze(q) },
		"finished":  func(g *gather, q *Query) { g.finish(q) },
	} {
		out := new(spool)
		q, a := asked{pattern: "foo", mode: Lines}.query(t), new(Answer)
		q.Out = out
		g := newGather(q, 2, false, a)
		g.deliver(0, 1, &found{path: "a", hits: 1, shown: 1, text: []byte("a\n"), entries: []entry{{0, 2}}})
		end(g, q)
		g.deliver(1, 2, late)
		g.deliverAll([]*found{late})
		if undo := g.stream(late); undo != nil || out.String() != "a\n" || a.Total != 1 {
			t.Errorf("%s: %q, %d entries", name, out.String(), a.Total)
		}
		if g.freeze(q) != nil || g.finish(q) {
			t.Errorf("%s: it is answered once more", name)
		}
	}
}
