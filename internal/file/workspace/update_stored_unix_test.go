//go:build unix

package workspace

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Everything is synced in the right order to survive a loss of power: the content
// before the rename, then the file's name, then the names of new folders.
func TestUpdateStored(t *testing.T) {
	dir := tempDir(t)
	old := write(t, "old", dir, "f")
	var path string
	var events []string
	defer func(was func(*os.File) error) { storeContent = was }(storeContent)
	defer func(was func(*os.Root) error) { storeNames = was }(storeNames)
	storeContent = func(file *os.File) error {
		text, err := io.ReadAll(io.NewSectionReader(file, 0, 100))
		events = append(events, "content "+string(text)+" while it is "+content(path))
		return err
	}
	storeNames = func(root *os.Root) error {
		mine, err := root.Stat(".")
		if err != nil {
			return err
		}
		for _, name := range []string{".", "a", "a/b"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil && os.SameFile(mine, info) {
				events = append(events, "names in "+name+" while it is "+content(path))
			}
		}
		return nil
	}
	files := NewFiles(openRoots(t, dir), anything)
	none := "error: " + syscall.ENOENT.Error()
	for _, tt := range []struct {
		path string
		want []string
	}{
		{old, []string{"content new while it is old", "names in . while it is new"}},
		{filepath.Join(dir, "a", "b", "f"), []string{
			"content new while it is " + none, "names in a/b while it is new", "names in a while it is new", "names in . while it is new",
		}},
		{filepath.Join(dir, "a", "g"), []string{"content new while it is " + none, "names in a while it is new"}},
	} {
		path, events = tt.path, nil
		if _, err := files.Update(t.Context(), path, set("new")); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(tt.want, events); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

// If the content cannot be stored, nothing changes.
func TestUpdateNotStored(t *testing.T) {
	dir := tempDir(t)
	old := write(t, "old", dir, "f")
	defer func(was func(*os.File) error) { storeContent = was }(storeContent)
	storeContent = func(*os.File) error { return syscall.EIO }
	files := NewFiles(openRoots(t, dir), anything)
	for _, path := range []string{old, filepath.Join(dir, "new"), filepath.Join(dir, "a", "b", "f")} {
		w, err := files.Update(t.Context(), path, set("new"))
		if !errors.Is(err, syscall.EIO) || errors.Is(err, ErrUnconfirmed) || w.Path != "" {
			t.Errorf("%s: %+v, %v", path, w, err)
		}
	}
	if content(old) != "old" {
		t.Errorf("holds %q", content(old))
	}
	onlyNames(t, dir, "f")
}

// storeContent calls the system, which fails for files that it cannot sync.
func TestStoreContent(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if storeContent(w) == nil {
		t.Error("a pipe was stored")
	}
}
