//go:build unix

package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newTemp returns folders for temporary files in a folder of the test.
func newTemp(t *testing.T) (*tempFolders, string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", base)
	folders := &tempFolders{}
	t.Cleanup(func() {
		if err := folders.close(); err != nil && !strings.Contains(err.Error(), "already closed") {
			t.Error(err)
		}
	})
	return folders, base
}

func folderOf(t *testing.T, f *tempFolders, owner string) string {
	t.Helper()
	dir, err := f.of(owner)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		t.Fatalf("%s: %v, %v", dir, info, err)
	}
	return dir
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

func TestTemp(t *testing.T) {
	f, base := newTemp(t)
	if f.base() != "" || len(entries(t, base)) != 0 {
		t.Error("a folder was made before it was needed")
	}
	a, b := folderOf(t, f, "a"), folderOf(t, f, "b")
	if a == b || folderOf(t, f, "a") != a || filepath.Dir(a) != f.base() {
		t.Errorf("%s and %s in %s", a, b, f.base())
	}
	program(t, filepath.Join(a, "x"))
	f.forget("a")
	if _, err := os.Lstat(a); !os.IsNotExist(err) {
		t.Error("it was not removed:", err)
	}
	f.forget("nobody")
	if folderOf(t, f, "a") == a {
		t.Error("who comes after is given the same folder")
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
	if left := entries(t, base); len(left) != 0 {
		t.Errorf("there is %v left", left)
	}
	if _, err := f.of("a"); err == nil {
		t.Error("a folder was made after the end")
	}
}

func TestTempRemoved(t *testing.T) {
	f, base := newTemp(t)
	a := folderOf(t, f, "a")
	if err := os.RemoveAll(a); err != nil {
		t.Fatal(err)
	}
	if folderOf(t, f, "a") != a {
		t.Error("it was not made again")
	}
	// A link in its place is not followed.
	if err := os.RemoveAll(a); err != nil {
		t.Fatal(err)
	}
	link(t, base, a)
	if dir, err := f.of("a"); err == nil {
		t.Errorf("a link was taken for the folder: %s", dir)
	}
	// A folder of another user with the server's old name is not used.
	old := f.base()
	if err := os.RemoveAll(old); err != nil {
		t.Fatal(err)
	}
	theirs := program(t, filepath.Join(old, "theirs"))
	if dir := folderOf(t, f, "a"); filepath.Dir(dir) == old || filepath.Dir(dir) != f.base() {
		t.Errorf("%s was made, in %s", dir, f.base())
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(theirs); err != nil {
		t.Error("somebody else's file was removed:", err)
	}
	// Nor is it removed at the end.
	g, _ := newTemp(t)
	folderOf(t, g, "a")
	if err := os.RemoveAll(g.base()); err != nil {
		t.Fatal(err)
	}
	theirs = program(t, filepath.Join(g.base(), "theirs"))
	if err := g.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(theirs); err != nil {
		t.Error("somebody else's file was removed:", err)
	}
}

// TestTempReadOnly checks that folders whose mode forbids it are removed, too.
func TestTempReadOnly(t *testing.T) {
	f, base := newTemp(t)
	a := folderOf(t, f, "a")
	deep := filepath.Join(a, "mod", "deep")
	program(t, filepath.Join(deep, "x"))
	outside := filepath.Join(base, "outside")
	if err := os.Mkdir(outside, 0o500); err != nil {
		t.Fatal(err)
	}
	link(t, outside, filepath.Join(a, "link"))
	for _, dir := range []string{deep, filepath.Dir(deep)} {
		if err := os.Chmod(dir, 0); err != nil {
			t.Fatal(err)
		}
	}
	f.forget("a")
	if _, err := os.Lstat(a); !os.IsNotExist(err) {
		t.Error("it was not removed:", err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("what a link leads to was changed: %v, %v", info, err)
	}
}

func TestTempSweep(t *testing.T) {
	f, base := newTemp(t)
	old := time.Now().Add(-2 * sweepAge)
	folder := func(name string, files ...string) string {
		dir := filepath.Join(base, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			program(t, filepath.Join(dir, file))
		}
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	left, empty := folder("mcp-toolset-123", "abcdefg2/x"), folder("mcp-toolset-124")
	kept := map[string]string{
		"no number":       folder("mcp-toolset-project", "abcdefg2/x"),
		"other files":     folder("mcp-toolset-125", "abcdefg2/x", "README.md"),
		"other folders":   folder("mcp-toolset-126", "source/x"),
		"no name":         folder("mcp-toolset-"),
		"something else":  folder("other-127"),
		"young":           folder("mcp-toolset-128"),
		"of a server":     folder("mcp-toolset-129"),
		"the link's goal": folder("goal"),
	}
	now := time.Now()
	if err := os.Chtimes(kept["young"], now, now); err != nil {
		t.Fatal(err)
	}
	lock, err := lockFolder(kept["of a server"])
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	link(t, kept["the link's goal"], filepath.Join(base, "mcp-toolset-130"))
	folderOf(t, f, "a")
	for _, dir := range []string{left, empty} {
		if _, err := os.Lstat(dir); !os.IsNotExist(err) {
			t.Errorf("%s was left", dir)
		}
	}
	for why, dir := range kept {
		if _, err := os.Lstat(dir); err != nil {
			t.Errorf("%s (%s) was removed", dir, why)
		}
	}
	// The folder of this server is locked.
	if err := os.Chtimes(f.base(), old, old); err != nil {
		t.Fatal(err)
	}
	g := &tempFolders{}
	folderOf(t, g, "b")
	if !f.stands() {
		t.Error("another server removed the folder of this one")
	}
	if err := g.close(); err != nil {
		t.Error(err)
	}
}
