package workspace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// eachOpener runs the test with every opener that this system supports.
func eachOpener(t *testing.T, test func(t *testing.T, open func(dirs ...string) *Roots)) {
	t.Helper()
	for _, forced := range []bool{false, true} {
		name := fmt.Sprintf("%T", newOpener(nil))
		if forced {
			name = "forced walk"
		}
		t.Run(name, func(t *testing.T) {
			test(t, func(dirs ...string) *Roots {
				t.Helper()
				r := openRoots(t, dirs...)
				if forced {
					r.opener = walk{r}
				}
				return r
			})
		})
	}
}

func openRoots(t testing.TB, dirs ...string) *Roots {
	t.Helper()
	r, err := OpenRoots(dirs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

var errOutside = errors.New("outside the workspace")

// inside returns a Check that allows paths within the roots.
func inside(r *Roots) Check {
	return func(_, canonical string) error {
		if Containing(r.Paths(), canonical) == "" {
			return errOutside
		}
		return nil
	}
}

func anything(string, string) error { return nil }

// read returns the content of the file that f opens at path, and checks the FileInfo.
func read(t *testing.T, f *Files, path string) (string, error) {
	t.Helper()
	file, info, err := f.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		t.Fatalf("reading %s: %v", path, err)
	}
	if !info.Mode().IsRegular() || info.Size() != int64(len(text)) {
		t.Errorf("Open(%s): mode %v size %d, read %d bytes", path, info.Mode(), info.Size(), len(text))
	}
	return string(text), nil
}

// tempDir returns the canonical path of a new directory.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := Canonical(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// write creates the file and the directories above it, and returns its path.
func write(t testing.TB, text string, path ...string) string {
	t.Helper()
	name := filepath.Join(path...)
	mkdir(t, filepath.Dir(name))
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func mkdir(t testing.TB, path ...string) string {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(name, 0o700); err != nil {
		t.Fatal(err)
	}
	return name
}

// link creates a symbolic link with target unchanged, and returns the link's path.
func link(t testing.TB, target string, path ...string) string {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.Symlink(target, name); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("creating links needs a privilege here:", err)
		}
		t.Fatal(err)
	}
	if _, err := os.Readlink(name); err != nil && runtime.GOOS == "windows" {
		t.Skip("no links here (Wine makes a file of one):", err)
	}
	return name
}

// unable skips a test on Windows if err shows that the system does not support the
// operation.
func unable(t testing.TB, err error) {
	t.Helper()
	if err != nil && runtime.GOOS == "windows" {
		t.Skip("not possible here:", err)
	}
}

// replacesOpen skips a test on Windows if the file system does not replace a file that
// is open, as in Wine: each Update would wait for it.
func replacesOpen(t testing.TB) {
	t.Helper()
	dir := tempDir(t)
	old, err := os.Open(write(t, "old", dir, "old"))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	write(t, "new", dir, "new")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	unable(t, root.Rename("new", "old"))
}
