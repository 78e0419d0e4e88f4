package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOpenRoots(t *testing.T) {
	dir := tempDir(t)
	b, a := mkdir(t, dir, "b"), mkdir(t, dir, "a")
	toA := link(t, "a", dir, "to-a")

	r := openRoots(t, b, toA, a, b+"/../b/")
	want := []string{b, a}
	if diff := cmp.Diff(want, r.Paths()); diff != "" {
		t.Error(diff)
	}
	r.Paths()[0] = "changed"
	if diff := cmp.Diff(want, r.Paths()); diff != "" {
		t.Error("Paths is not a copy:", diff)
	}
	if got := openRoots(t).Paths(); len(got) != 0 {
		t.Errorf("no roots: Paths() = %q", got)
	}

	t.Chdir(dir)
	if diff := cmp.Diff([]string{a}, openRoots(t, "a").Paths()); diff != "" {
		t.Error("relative root:", diff)
	}
}

func TestOpenRootsErrors(t *testing.T) {
	dir := tempDir(t)
	ok, file := mkdir(t, dir, "ok"), write(t, "", dir, "file")
	loop, dangling := link(t, "loop", dir, "loop"), link(t, "nowhere", dir, "dangling")
	for _, tt := range []struct{ root, want string }{
		{filepath.Join(dir, "nope"), "workspace root " + dir + "/nope does not exist"},
		{dangling, "workspace root " + dangling + " does not exist"},
		{file, "workspace root " + file + " is not a directory"},
		{"", "workspace root is an empty path"},
		{loop, "resolving workspace root " + loop + ": too many levels"},
		{"/a\x00b", "resolving workspace root /a\x00b: path contains a NUL byte"},
	} {
		r, err := OpenRoots([]string{ok, tt.root})
		if r != nil || err == nil || !strings.HasPrefix(filepath.ToSlash(err.Error()), filepath.ToSlash(tt.want)) {
			t.Errorf("OpenRoots(%q) = %v, %v; want error %s", tt.root, r, err, tt.want)
		}
	}
}

func TestContaining(t *testing.T) {
	dir := tempDir(t)
	app, inner, other := mkdir(t, dir, "app"), mkdir(t, dir, "app/inner"), mkdir(t, dir, "other")
	r := openRoots(t, app, other, inner)
	for _, tt := range []struct{ path, want string }{
		{app, app},
		{filepath.Join(app, "x"), app},
		{filepath.Join(app, "inner"), inner},
		{filepath.Join(app, "inner", "x", "y"), inner},
		{filepath.Join(app, "inner2"), app},
		{app + "2", ""},
		{filepath.Join(dir, "other-evil", "x"), ""},
		{dir, ""},
		{"", ""},
	} {
		if got := Containing(r.Paths(), tt.path); got != tt.want {
			t.Errorf("Containing(%q) = %q, want %q", tt.path, got, tt.want)
		}
	}
}

// A root is the folder that it was at the start, wherever its path leads later.
func TestRootReplacedByLink(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		dir := tempDir(t)
		ws := filepath.Dir(write(t, "mine", dir, "ws", "f"))
		evil := filepath.Dir(write(t, "SECRET", dir, "evil", "f"))
		r := open(ws)
		files := NewFiles(r, inside(r))
		if err := os.Rename(ws, ws+"-old"); err != nil {
			t.Fatal(err)
		}
		link(t, evil, ws)
		if text, err := read(t, files, filepath.Join(ws, "f")); err != errOutside {
			t.Errorf("read %q, %v; want %v", text, err, errOutside)
		}
		if list, err := files.ReadDir(ws, 0); err != errOutside {
			t.Errorf("listed %v, %v; want %v", list, err, errOutside)
		}
		if diff := cmp.Diff([]string{ws}, r.Paths()); diff != "" {
			t.Error(diff)
		}
	})
}

// A project that was deleted and checked out again is the same workspace.
func TestRootRecreated(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		dir := tempDir(t)
		f := write(t, "first", dir, "ws", "f")
		ws := filepath.Dir(f)
		r := open(ws)
		files := NewFiles(r, inside(r))
		if err := os.Rename(ws, ws+"-old"); err != nil {
			t.Fatal(err)
		}
		write(t, "second", dir, "ws", "f")
		if text, err := read(t, files, f); text != "second" || err != nil {
			t.Errorf("read %q, %v", text, err)
		}
	})
}
