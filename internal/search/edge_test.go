package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDeepPages checks that pages far inside large files are parts of the whole.
func TestDeepPages(t *testing.T) {
	dir := t.TempDir()
	for f := range 3 {
		var b strings.Builder
		for i := range 40_000 {
			fmt.Fprintf(&b, "foo %d %060d\n", f, i)
		}
		write(t, filepath.Join(dir, fmt.Sprint("f", f)), b.String())
	}
	s := New(options(-1, dir))
	defer s.Close()
	all := asked{pattern: "foo", mode: Lines}
	lines := strings.SplitAfter(string(search(t, s, dir, all.query(t)).Text), "\n")
	for _, offset := range []int{0, 39_990, 40_000, 79_999, 100_000, 119_995, 120_000} {
		k := all
		k.offset, k.limit = offset, 20
		want := strings.Join(lines[offset:min(offset+20, 120_000)], "")
		if a := search(t, s, dir, k.query(t)); string(a.Text) != want || a.Total != 120_000 || a.Incomplete != "" {
			t.Errorf("offset %d: %d of %d, %q\n%s, want\n%s", offset, len(a.Text), a.Total, a.Incomplete, a.Text, want)
		}
	}
	k := all
	k.offset, k.limit = math.MaxInt, 250
	if a := search(t, s, dir, k.query(t)); len(a.Text) != 0 || a.Total != 120_000 {
		t.Errorf("behind all: %d bytes of %d", len(a.Text), a.Total)
	}
}

// TestLongLine checks that a line too long for one piece is counted and shown once, and
// that the answer reports the cut.
func TestLongLine(t *testing.T) {
	dir := t.TempDir()
	x := []byte(strings.Repeat("x", 34<<20))
	copy(x, "foo")
	copy(x[len(x)-3:], "foo")
	x = append(x, "\nfoo\n"...)
	if err := os.WriteFile(filepath.Join(dir, "f"), x, 0o600); err != nil {
		t.Fatal(err)
	}
	s := New(options(-1, dir))
	defer s.Close()
	for pattern, want := range map[string]int{"foo": 2, "x": 1, "^foo$": 1} {
		a := search(t, s, dir, asked{pattern: pattern, mode: Counts}.query(t))
		if a.Hits != want || !strings.Contains(a.Incomplete, "in pieces") {
			t.Errorf("%q: %d lines, want %d; %q", pattern, a.Hits, want, a.Incomplete)
		}
		q := asked{pattern: pattern, mode: Lines}.query(t)
		q.Line = func(dst []byte, _ string, n int, _ []byte, _ int) []byte { return fmt.Appendln(dst, n) }
		if a := search(t, s, dir, q); a.Total != want {
			t.Errorf("%q: lines %s", pattern, a.Text)
		}
	}
	q := asked{pattern: "foo", mode: Counts}.query(t)
	q.Show = func(string) bool { return false }
	if a := search(t, s, dir, q); a.Incomplete != "" {
		t.Errorf("a file that may not be read: %q", a.Incomplete)
	}
	a, err := s.File(t.Context(), asked{pattern: "foo", mode: Counts}.query(t), bytes.NewReader(x), int64(len(x)), "f")
	if err != nil || a.Hits != 2 || !strings.Contains(a.Incomplete, "in pieces") {
		t.Errorf("named: %d lines; %q, %v", a.Hits, a.Incomplete, err)
	}
}

// TestSlowPatterns checks that the deadline ends a search inside a file.
func TestSlowPatterns(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), strings.Repeat("the quick brown fox jumps over the lazy dog and so on\n", 15<<20/54))
	s := New(options(-1, dir))
	defer s.Close()
	for _, k := range []asked{
		{pattern: `(?:[a-z]+\s+){8,30}\d`, multi: true},
		{pattern: `(?:\w{1,30}\s?){1,9}[0-9]`}, // too large for an automaton
		{pattern: `(?:\w{1,30}\s?){1,9}[0-9]`, mode: Counts},
		{pattern: `(?:\w{1,30}\s?){1,9}[0-9]`, mode: Lines},
	} {
		q := k.query(t)
		q.Deadline = time.Now().Add(20 * time.Millisecond)
		if a := search(t, s, dir, q); !strings.Contains(a.Incomplete, late) {
			t.Errorf("%v: all was searched; %q", k, a.Incomplete)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if _, err := s.Tree(dir, opener(dir)).Search(ctx, k.query(t)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v: all was searched; %v", k, err)
		}
		cancel()
	}
}

// TestLateFailure checks that an error of opening the top for the second time is returned.
func TestLateFailure(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "foo\n")
	s := New(options(-1, dir))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	broken := errors.New("broken")
	opened := 0
	tree := s.Tree(dir, func() (*os.File, error) {
		if opened++; opened == 2 {
			return nil, broken
		}
		return os.Open(dir)
	})
	if a, err := tree.Search(ctx, asked{pattern: "foo"}.query(t)); !errors.Is(err, broken) {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestSlowPick checks that the deadline applies while files are chosen.
func TestSlowPick(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 * stride {
		write(t, filepath.Join(dir, fmt.Sprint(i)), "")
	}
	s := New(options(0, dir))
	defer s.Close()
	for range 2 { // the second time with an index
		q := asked{pattern: "foo"}.query(t)
		ctx, cancel := context.WithCancel(t.Context())
		picked := 0
		q.Pick = func(string, string) bool {
			if picked++; picked == 10 {
				cancel()
			}
			return true
		}
		if _, err := s.Tree(dir, opener(dir)).Search(ctx, q); !errors.Is(err, context.Canceled) || picked > stride {
			t.Errorf("%d files were chosen after a cancel, %v", picked, err)
		}
		search(t, s, dir, asked{pattern: "foo"}.query(t))
		s.build.Wait()
	}
}

// TestReplaced checks that a file that is not a regular file any more when it is read
// is treated as if it had never existed.
func TestReplaced(t *testing.T) {
	for what, put := range map[string]func(path string) error{
		"nothing": func(string) error { return nil },
		"link":    func(path string) error { return os.Symlink("/etc/passwd", path) },
		"folder":  func(path string) error { return os.Mkdir(path, 0o755) },
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		write(t, path, "foo\n")
		s := New(options(-1, dir))
		q := asked{pattern: "foo"}.query(t)
		q.Pick = func(string, string) bool {
			if err := errors.Join(os.Remove(path), put(path)); err != nil {
				t.Skip(err)
			}
			return true
		}
		if a := search(t, s, dir, q); a.Total != 0 || a.Unreadable != 0 {
			t.Errorf("%s: %d files, %d unreadable", what, a.Total, a.Unreadable)
		}
		s.Close()
	}
}

// TestLinksAreNotIgnored checks that only entries excluded by rules count as ignored.
func TestLinksAreNotIgnored(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ".gitignore"), "*.log\n")
	for i := range 30 {
		write(t, filepath.Join(dir, fmt.Sprint(i, ".log")), "")
		if err := os.Symlink("x", filepath.Join(dir, fmt.Sprint("link", i))); err != nil {
			t.Skip(err)
		}
	}
	s := New(options(-1, dir))
	defer s.Close()
	if a := search(t, s, dir, asked{pattern: "foo"}.query(t)); a.IgnoredCount != 30 {
		t.Errorf("%d ignored, want 30", a.IgnoredCount)
	}
}
