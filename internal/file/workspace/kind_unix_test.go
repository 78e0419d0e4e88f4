//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Only regular files are opened, and nothing blocks: the deadline is far longer than an
// open takes.
func TestOpenKinds(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		dir := tempDir(t)
		if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Chdir(dir) // the path of a socket must be short
		socket, err := net.Listen("unix", "sock")
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
		mkdir(t, dir, "dir")
		link(t, "fifo", dir, "to-fifo")
		files := NewFiles(open(dir), anything)
		for path, want := range map[string]string{
			filepath.Join(dir, "fifo"):    "named pipe",
			filepath.Join(dir, "to-fifo"): "named pipe",
			filepath.Join(dir, "sock"):    "socket",
			filepath.Join(dir, "dir"):     "directory",
			dir:                           "directory",
			"/":                           "directory",
			"/dev/null":                   "character device",
		} {
			within(t, func() {
				_, _, err := files.Open(path)
				var kind *KindError
				if !errors.As(err, &kind) || *kind != (KindError{path, want}) {
					t.Errorf("Open(%s): %v; want a %s", path, err, want)
				}
				if want != "directory" {
					if _, err := files.ReadDir(path, 0); !errors.Is(err, syscall.ENOTDIR) {
						t.Errorf("ReadDir(%s): %v", path, err)
					}
				}
			})
		}
	})
}

// A pipe may replace a file or a directory at any time between the look and the open.
// Here it always does: fits puts the pipe there.
func TestPipeAppears(t *testing.T) {
	eachOpener(t, func(t *testing.T, open func(...string) *Roots) {
		dir := tempDir(t)
		path := write(t, "x", dir, "f")
		r := open(dir)
		swapped := false
		within(t, func() {
			_, err := r.opener.open(path, func(info fs.FileInfo) error {
				if !swapped {
					swapped = true
					if err := errors.Join(os.Rename(path, path+"-old"), syscall.Mkfifo(path, 0o600)); err != nil {
						t.Error(err)
					}
					return nil
				}
				if info.Mode().IsRegular() {
					t.Error("opened the file that has gone")
				}
				return errors.New("not regular")
			})
			if err == nil {
				t.Error("opened a pipe")
			}
		})
	})
}

func TestOpenDirOfPipe(t *testing.T) {
	dir := tempDir(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	within(t, func() {
		if _, err := openDir(root, "fifo"); err == nil {
			t.Error("opened a pipe")
		}
	})
}

func TestKindOf(t *testing.T) {
	for mode, want := range map[fs.FileMode]string{
		0o644:                              "",
		fs.ModeSetuid | 0o755:              "",
		fs.ModeDir | 0o755:                 "directory",
		fs.ModeNamedPipe:                   "named pipe",
		fs.ModeSocket:                      "socket",
		fs.ModeDevice:                      "block device",
		fs.ModeDevice | fs.ModeCharDevice:  "character device",
		fs.ModeIrregular:                   "special file",
		fs.ModeDir | fs.ModeSticky | 0o777: "directory",
	} {
		if got := kindOf(mode); got != want {
			t.Errorf("kindOf(%v) = %q, want %q", mode, got, want)
		}
	}
	err := &KindError{"/a/fifo", "named pipe"}
	if got, want := err.Error(), "/a/fifo is a named pipe, not a regular file"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// within fails the test if f does not return.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("blocked")
	}
}
