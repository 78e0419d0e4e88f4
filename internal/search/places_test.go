package search

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlaces checks that the query gets the beginning of the first match in lines
// longer than Wide.
func TestPlaces(t *testing.T) {
	x := strings.Repeat("x", 20)
	text := x + "foo\nbar" + x + "foo\n" + "foo bar foo\n" + x + "\n" + x + "foo\n\n" + x + "bar" + x + "foo\nbar\n\n" + x + "end"
	for _, c := range []struct {
		pattern string
		multi   bool
		want    string // line:place
	}{
		{"foo", false, "1:20 2:23 3:0 5:20 7:43"},
		{"bar|foo", false, "1:20 2:0 3:0 5:20 7:20 8:0"},
		{"foo$", false, "1:20 2:23 3:0 5:20 7:43"},
		{`foo\nbar`, true, "1:20 2:0 7:43 8:0"},
		{`foo\n+\w*bar`, true, "1:20 2:0 5:20 6:0 7:0 8:0"},
		{`(?s)x\nx.*?foo\n`, true, "4:19 5:0"},
		{`foo\n|end`, true, "1:20 2:23 3:0 5:20 7:43 10:20"},
		{`\n\n`, true, "5:23 6:0 8:0 9:0"},
		{`foo\n|(?m:^)`, true, "1:0 2:23 3:0 4:0 5:0 6:0 7:0 8:0 9:0 10:0"},
		{`(?m)^\s*$`, true, "6:0 9:0"},
	} {
		var got []string
		q := asked{pattern: c.pattern, multi: c.multi, mode: Lines}.query(t)
		q.Wide = 15
		q.Line = func(dst []byte, _ string, n int, line []byte, at int) []byte {
			got = append(got, fmt.Sprintf("%d:%d", n, at))
			return append(dst, '\n')
		}
		s := New(options(-1, t.TempDir()))
		if _, err := s.File(context.Background(), q, strings.NewReader(text), int64(len(text)), "f"); err != nil {
			t.Fatal(err)
		}
		if have := strings.Join(got, " "); have != c.want {
			t.Errorf("%s: %s, want %s", c.pattern, have, c.want)
		}
		// Lines that are not too long, and those beside a match.
		got, q.Wide, q.Before = nil, 0, 1
		if _, err := s.File(context.Background(), q, bytes.NewReader([]byte("\n"+text)), int64(len(text)+1), "f"); err != nil {
			t.Fatal(err)
		}
		for _, g := range got {
			if !strings.HasSuffix(g, ":0") && !strings.HasSuffix(g, ":-1") {
				t.Errorf("%s: %s", c.pattern, g)
			}
		}
		s.Close()
	}
}

func TestLeftOut(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{".gitignore": "*.log\nbuild/\n", "a.log": "", "a": "", "build/b": "", "c/a.log": ""} {
		write(t, filepath.Join(dir, name), text)
	}
	s := New(options(-1, dir))
	defer s.Close()
	for name, want := range map[string]string{"a": "", "a.log": "a.log", "c/a.log": "c/a.log", "build": "build", "build/b": "build", "none": ""} {
		if want != "" {
			want = filepath.Join(dir, want)
		}
		if got := s.IgnoredBy(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestUnreadable checks that unreadable files and folders are counted separately.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c/d"} {
		write(t, filepath.Join(dir, name), "foo\n")
	}
	for _, name := range []string{"a", "c"} {
		if err := os.Chmod(filepath.Join(dir, name), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, name), 0o700) })
	}
	if _, err := os.ReadDir(filepath.Join(dir, "c")); err == nil {
		t.Skip("this user may read everything")
	}
	s := New(options(-1, dir))
	defer s.Close()
	a := search(t, s, dir, asked{pattern: "foo"}.query(t))
	if a.Total != 1 || a.Picked != 2 || a.Unreadable != 2 || a.Closed != 1 {
		t.Errorf("%d files of %d, %d unreadable, %d of them folders", a.Total, a.Picked, a.Unreadable, a.Closed)
	}
}
