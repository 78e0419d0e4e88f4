package search

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mcp-toolset/internal/exec/mounttest"
	"mcp-toolset/internal/file/silentfs"
	"mcp-toolset/internal/search/walk"
)

// silentTree returns a tree with a folder that does not answer, and a searcher that
// notices it soon.
func silentTree(t *testing.T) (s *Searcher, dir string, end func()) {
	dir = t.TempDir()
	for _, name := range []string{"a", "m/b", "z/c"} {
		write(t, filepath.Join(dir, name), "foo\n")
	}
	slow := filepath.Join(dir, "slow")
	if err := os.Mkdir(slow, 0o755); err != nil {
		t.Fatal(err)
	}
	end = silentfs.Mount(t, slow)
	s = New(Options{})
	s.silentCheck = 20 * time.Millisecond
	t.Cleanup(func() { end(); s.Close() })
	return s, dir, end
}

// TestSilent searches a tree with a folder that does not answer. It checks that the
// folder is named and the rest is found, and that another search does not wait for the
// folder again. Once the file system answers, even with an error, the folder is
// searched again.
func TestSilent(t *testing.T) {
	if !mounttest.Own(t) {
		return
	}
	s, dir, end := silentTree(t)
	for range 2 {
		a, err := s.Tree(dir, opener(dir)).Search(t.Context(), foo(t))
		if err != nil || a.Total != 3 || !slices.Equal(a.Silent, []string{"slow"}) || a.Unreadable != 0 {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	found, err := s.Tree(dir, opener(dir)).Names(t.Context(), &Query{Pick: func(_, name string) bool { return true }})
	if err != nil || len(found.Files) != 3 || !slices.Equal(found.Silent, []string{"slow"}) || found.Unreadable != 0 {
		t.Fatalf("%+v, %v", found, err)
	}
	hidden := foo(t)
	hidden.Show = func(path string) bool { return path != "slow" }
	if a, err := s.Tree(dir, opener(dir)).Search(t.Context(), hidden); err != nil || a.Total != 3 || a.Silent != nil || a.Unreadable != 0 {
		t.Errorf("one that may not be shown: %+v, %v", a, err)
	}
	slow := filepath.Join(dir, "slow")
	if _, err := s.Tree(slow, opener(slow)).Search(t.Context(), foo(t)); !errors.Is(err, walk.ErrSilent) {
		t.Errorf("the folder itself: %v", err)
	}
	end()
	for wait := time.Now().Add(time.Minute); s.silent.some.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(wait) {
			t.Fatal("it is still taken for silent")
		}
	}
	a, err := s.Tree(dir, opener(dir)).Search(t.Context(), foo(t))
	if err != nil || a.Total != 3 || a.Silent != nil {
		t.Errorf("it has ended: %+v, %v", a, err)
	}
}

// TestDropped searches a tree that was dropped before. The attempt on it is given up at once,
// and must not touch the tree of the next attempt: the race detector shows it.
func TestDropped(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "foo\n")
	s := New(Options{})
	defer s.Close()
	for range 50 {
		tree := s.Tree(dir, opener(dir))
		s.dropTree(tree)
		if a, err := tree.Search(t.Context(), foo(t)); err != nil || a.Total != 1 {
			t.Fatalf("%+v, %v", a, err)
		}
		tree = s.Tree(dir, opener(dir))
		s.dropTree(tree)
		if found, err := tree.Names(t.Context(), &Query{Pick: func(_, _ string) bool { return true }}); err != nil || len(found.Files) != 1 {
			t.Fatalf("%+v, %v", found, err)
		}
	}
}

// TestSilentLater makes a file system stop answering after its files were listed, so
// that they are among those searched.
func TestSilentLater(t *testing.T) {
	if !mounttest.Own(t) {
		return
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "foo\n")
	write(t, filepath.Join(dir, "slow", "b"), "foo\n")
	s := New(Options{})
	s.silentCheck = 20 * time.Millisecond
	defer s.Close()
	for range 2 {
		if a, err := s.Tree(dir, opener(dir)).Search(t.Context(), foo(t)); err != nil || a.Total != 2 {
			t.Fatalf("%+v, %v", a, err)
		}
		s.build.Wait()
	}
	defer silentfs.Mount(t, filepath.Join(dir, "slow"))()
	a, err := s.Tree(dir, opener(dir)).Search(t.Context(), foo(t))
	if err != nil || a.Total != 1 || !slices.Equal(a.Silent, []string{"slow"}) {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestSilentInTime checks a search whose deadline passes, or that is cancelled, before
// the silent folder is noticed. Other searches of the same tree do not wait forever.
func TestSilentInTime(t *testing.T) {
	if !mounttest.Own(t) {
		return
	}
	s, dir, _ := silentTree(t)
	s.silentCheck = time.Hour
	late := foo(t)
	late.Deadline = time.Now().Add(-time.Second)
	a, err := s.Tree(dir, opener(dir)).Search(t.Context(), late)
	if err != nil || a.Incomplete == "" {
		t.Errorf("late: %+v, %v", a, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := s.Tree(dir, opener(dir)).Search(ctx, foo(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	tree := s.Tree(dir, opener(dir))
	time.AfterFunc(20*time.Millisecond, func() {
		s.silent.add(filepath.Join(dir, "slow"), 1)
		s.dropTree(tree)
	})
	a, err = tree.Search(t.Context(), foo(t))
	if err != nil || a.Total != 3 || !slices.Equal(a.Silent, []string{"slow"}) {
		t.Errorf("another search has noticed: %+v, %v", a, err)
	}
}

// TestSilentAtTheEnd checks that a search that waits in the middle of its files at the
// deadline returns the results found by then.
func TestSilentAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "m/b", "z/c"} {
		write(t, filepath.Join(dir, name), "foo\n")
	}
	s := New(Options{})
	s.workers, s.grace = 2, time.Millisecond
	t.Cleanup(func() { s.Close() })
	end := make(chan struct{})
	defer close(end)
	for _, mode := range []Mode{Names, Counts, Lines} {
		q := foo(t)
		q.Mode, q.Limit, q.Deadline = mode, 0, time.Now().Add(100*time.Millisecond)
		q.Show = func(path string) bool {
			if path == "m/b" {
				<-end
			}
			return true
		}
		q.Line = func(dst []byte, path string, _ int, _ []byte, _ int) []byte { return append(dst, path+"\n"...) }
		a, err := s.Tree(dir, opener(dir)).Search(t.Context(), q)
		if err != nil || a.Total != 2 || a.Incomplete != late || mode == Lines && string(a.Text) != "a\nz/c\n" {
			t.Errorf("mode %d: %+v %q, %v", mode, a, a.Text, err)
		}
	}
}
