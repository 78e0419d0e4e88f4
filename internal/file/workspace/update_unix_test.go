//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUpdateMode(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	dir := tempDir(t)
	files := NewFiles(openRoots(t, dir), anything)
	for _, mode := range []fs.FileMode{
		0o600, 0o644, 0o666, 0o755, 0o777, 0o640, 0o200, 0o604, 0o755 | fs.ModeSetuid, 0o755 | fs.ModeSetgid, 0o644 | fs.ModeSticky,
	} {
		path := write(t, "old", dir, mode.String())
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if mode&0o400 == 0 && os.Getuid() != 0 {
			continue // the file cannot be read
		}
		w, err := files.Update(t.Context(), path, set("new"))
		if err != nil || w.DroppedBits != (mode&(fs.ModeSetuid|fs.ModeSetgid) != 0) {
			t.Errorf("%v: %+v, %v", mode, w, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != mode.Perm() {
			t.Errorf("%v became %v, %v", mode, info.Mode(), err)
		}
	}
	path := filepath.Join(dir, "a", "f")
	if _, err := files.Update(t.Context(), path, set("new")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{path: 0o640, filepath.Dir(path): 0o750 | fs.ModeDir} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("made with umask 027: %v, %v", info.Mode(), err)
		}
	}
}

// A temporary file that replaces a file is private at first; one that creates a file
// has its final mode from the start.
func TestUpdateBegins(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	dir := tempDir(t)
	path := write(t, "old", dir, "f")
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	var began []fs.FileMode
	defer func(was func(*os.Root, string, int, fs.FileMode) (*os.File, error)) { makeFile = was }(makeFile)
	makeFile = func(root *os.Root, name string, flag int, perm fs.FileMode) (*os.File, error) {
		file, err := (*os.Root).OpenFile(root, name, flag, perm)
		if err != nil {
			return nil, err
		}
		info, err := file.Stat()
		if info.Size() != 0 {
			t.Error("there is something in it already")
		}
		began = append(began, info.Mode())
		return file, err
	}
	files := NewFiles(openRoots(t, dir), anything)
	for _, path := range []string{path, filepath.Join(dir, "new")} {
		if _, err := files.Update(t.Context(), path, set("new")); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]fs.FileMode{0o600, 0o644}, began); diff != "" {
		t.Error(diff)
	}
}

// A file that replaces the temporary file does not get the final name.
func TestTempSwapped(t *testing.T) {
	dir := tempDir(t)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	used, err := newTemp(root, "f", false)
	if err != nil {
		t.Fatal(err)
	}
	defer used.close()
	if err := os.Remove(filepath.Join(dir, used.name)); err != nil {
		t.Fatal(err)
	}
	if err := used.rename(&place{dir: root, name: "f"}, new(Old)); err != errMoved {
		t.Errorf("renamed what is not there: %v", err)
	}
	link(t, "/etc/hostname", dir, used.name)
	if err := used.rename(&place{dir: root, name: "f"}, new(Old)); err != errMoved {
		t.Errorf("renamed a link: %v", err)
	}
	onlyNames(t, dir, used.name)
}

// A hard link is broken, never written through: its other name may be outside.
func TestUpdateHardLink(t *testing.T) {
	dir := tempDir(t)
	secret := write(t, "SECRET", dir, "out", "f")
	path := filepath.Join(mkdir(t, dir, "ws"), "f")
	if err := os.Link(secret, path); err != nil {
		t.Fatal(err)
	}
	r := openRoots(t, filepath.Dir(path))
	for _, broke := range []bool{true, false} {
		w, err := NewFiles(r, inside(r)).Update(t.Context(), path, set("new"))
		if err != nil || w.BrokeLink != broke || content(path) != "new" || content(secret) != "SECRET" {
			t.Errorf("%+v, %v: %q, outside %q", w, err, content(path), content(secret))
		}
	}
}

// A file that is not regular is refused, and nothing blocks.
func TestUpdateKinds(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		dir := tempDir(t)
		if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
			t.Fatal(err)
		}
		mkdir(t, dir, "dir")
		link(t, "fifo", dir, "to-fifo")
		files := NewFiles(open(dir), anything)
		for path, want := range map[string]string{
			filepath.Join(dir, "fifo"):    "named pipe",
			filepath.Join(dir, "to-fifo"): "named pipe",
			filepath.Join(dir, "dir"):     "directory",
			dir:                           "directory",
			"/":                           "directory",
			"/dev/null":                   "character device",
		} {
			within(t, func() {
				_, err := files.Update(t.Context(), path, func(*Old) ([]byte, error) {
					t.Error("opened", path)
					return nil, ErrNoChange
				})
				var kind *KindError
				if !errors.As(err, &kind) || *kind != (KindError{path, want}) {
					t.Errorf("Update(%s): %v; want a %s", path, err, want)
				}
			})
		}
		onlyNames(t, dir, "dir", "fifo", "to-fifo")
	})
}
