//go:build linux || darwin

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSpotThird checks that a file that takes the name in the middle of a replacement is not
// removed, not even where it can get no other name.
func TestSpotThird(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	roots, err := OpenRoots([]string{root})
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	was := exclusive
	defer func() { exclusive = was }()
	path, third := filepath.Join(root, "a"), filepath.Join(root, "third")
	for name, put := range map[string]func(*Spot, func(*Look) error) error{
		"file": func(s *Spot, check func(*Look) error) error {
			return s.PutFile(strings.NewReader("earlier"), 0o644, Owner{os.Getuid(), os.Getgid()}, check)
		},
		"link": func(s *Spot, check func(*Look) error) error { return s.PutLink("earlier", check) },
	} {
		exclusive = was
		for file, text := range map[string]string{path: "changed", third: "third"} {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		spot, err := roots.Spot(path)
		if err != nil {
			t.Fatal(err)
		}
		refused, calls := errors.New("refused"), 0
		err = put(spot, func(*Look) error {
			if calls++; calls == 1 {
				return nil
			}
			exclusive = func(*os.Root, string, string) error { return syscall.EIO }
			return errors.Join(refused, os.Rename(third, path))
		})
		spot.Close()
		if !errors.Is(err, refused) || !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: error %v", name, err)
		}
		left, err := fs.Glob(os.DirFS(root), "*")
		if err != nil {
			t.Fatal(err)
		}
		texts := map[string]bool{}
		for _, file := range left {
			data, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				t.Fatal(err)
			}
			texts[string(data)] = true
		}
		if len(left) != 2 || !texts["changed"] || !texts["third"] {
			t.Errorf("%s: there are %q with %v", name, left, texts)
		}
		for _, file := range left {
			if err := os.Remove(filepath.Join(root, file)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
