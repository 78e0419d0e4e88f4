package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// age makes the file older than any file in use.
func age(t *testing.T, path string) {
	t.Helper()
	long := time.Now().Add(-2 * sweepAge)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
}

// The next write removes leftovers, and no file that only looks like one.
func TestSweep(t *testing.T) {
	dir := tempDir(t)
	r := openRoots(t, dir)
	files := NewFiles(r, anything)
	left := tempName("f")
	age(t, write(t, "half", dir, left))
	young := filepath.Base(write(t, "half", dir, tempName("f")))
	folder := filepath.Base(mkdir(t, dir, tempName("f")))
	age(t, filepath.Join(dir, folder))
	target := write(t, "mine", dir, "target")
	age(t, target)
	to := filepath.Base(link(t, "target", dir, tempName("f")))
	age(t, write(t, "mine", dir, ".f.mcp-toolset-.tmp"))

	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	used, err := newTemp(root, "f", true)
	if err != nil {
		t.Fatal(err)
	}
	defer used.close()
	age(t, filepath.Join(dir, used.name))

	update := func() {
		t.Helper()
		if _, err := files.Update(t.Context(), filepath.Join(dir, "f"), set("x")); err != nil {
			t.Fatal(err)
		}
	}
	update()
	for name, want := range map[string]bool{
		left: false, young: true, folder: true, to: true, "target": true, used.name: true, ".f.mcp-toolset-.tmp": true, "f": true,
	} {
		if _, err := os.Lstat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: there is one: %v", name, err == nil)
		}
	}

	// One sweep per minute.
	age(t, write(t, "half", dir, left))
	update()
	if content(filepath.Join(dir, left)) != "half" {
		t.Error("looked again at once")
	}
	if files = NewFiles(openRoots(t, dir), anything); content(filepath.Join(dir, left)) == "half" {
		update()
	}
	if content(filepath.Join(dir, left)) == "half" {
		t.Error("another server does not look")
	}
}

func TestSweepDue(t *testing.T) {
	var s sweeps
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		folder string
		after  time.Duration
		want   bool
	}{
		{"/a", 0, true}, {"/a", sweepEvery - 1, false}, {"/b", 0, true}, {"/a", sweepEvery, true}, {"/a", sweepEvery + 1, false},
	} {
		if got := s.due(tc.folder, at.Add(tc.after)); got != tc.want {
			t.Errorf("%s after %v: %v", tc.folder, tc.after, got)
		}
	}
	for i := range 3 * sweptFolders {
		s.due(fmt.Sprint(i), at)
	}
	if len(s.last) > sweptFolders {
		t.Errorf("remembers %d folders", len(s.last))
	}
}

func BenchmarkSweep(b *testing.B) {
	dir := tempDir(b)
	for i := range 1000 {
		write(b, "", dir, fmt.Sprint("file-", i))
	}
	p, err := NewFiles(openRoots(b, dir), anything).find(filepath.Join(dir, "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer p.close()
	for b.Loop() {
		new(sweeps).sweep(p)
	}
}
