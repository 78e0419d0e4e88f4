package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestReplace checks that a file is replaced as a whole and private, and that a
// file left by a killed server does no harm.
func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if _, _, err := ReadTrusted(path, 10); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(path+".new", []byte("of another"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a", "another", ""} {
		if err := Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		data, info, err := ReadTrusted(path, len(text))
		if err != nil || string(data) != text || runtime.GOOS != "windows" && info.Mode() != 0o600 {
			t.Errorf("%q, %v, %v", data, info, err)
		}
	}
	if _, err := os.Lstat(path + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("something is left beside it", err)
	}
	if err := Replace(filepath.Join(path, "x"), nil); err == nil {
		t.Error("a file in a file")
	}
}

// TestReadTrusted checks that files that others could have written, and files
// that are not regular, are not read.
func TestReadTrusted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := func(path string, most int, want string) {
		t.Helper()
		if data, _, err := ReadTrusted(path, most); err == nil || !strings.HasPrefix(err.Error(), "reading "+path+": "+want) {
			t.Errorf("%q, %v", data, err)
		}
	}
	refused(path, 3, "it is too long")
	refused(dir, 10, "it is not a file")
	if runtime.GOOS == "windows" {
		return
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	refused(link, 10, "it is not a file")
	if err := os.Chmod(path, 0o602); err != nil {
		t.Fatal(err)
	}
	refused(path, 10, "other users can write to it; see what is in it and make its mode 600")
}
