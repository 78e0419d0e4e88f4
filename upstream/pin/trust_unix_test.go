//go:build unix

package pin

import (
	"os"
	"syscall"
	"testing"
)

// TestOthersFiles checks that files that another user could have written are
// not trusted, and that reading does not block.
func TestOthersFiles(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"writable": func(path string) error { return os.Chmod(path, 0o620) },
		"link": func(path string) error {
			if err := os.Rename(path, path+".moved"); err != nil {
				return err
			}
			return os.Symlink(path+".moved", path)
		},
		"pipe": func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return syscall.Mkfifo(path, 0o600)
		},
	} {
		s := newStore(t)
		update(t, s, "x")
		if err := spoil(s.path("a")); err != nil {
			t.Fatal(err)
		}
		if _, ok := s.Cached("a", "c"); ok {
			t.Errorf("%s: it is read", name)
		}
		if changed, err := s.Update("a", "c", list("x")); err == nil || len(changed) != 1 {
			t.Errorf("%s: %v, %v", name, changed, err)
		}
		if info, err := os.Lstat(s.path("a")); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}
