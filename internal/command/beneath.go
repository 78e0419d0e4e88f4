package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// errLinked is the error of reaching a name behind a link.
var errLinked = errors.New("there is a link on the way, or a file")

// copyLimit is the size of a file up to which it is copied to be alone, in bytes.
const copyLimit = 64 << 20

// facts is what is known of a name.
type facts struct {
	kind          fs.FileMode // ModeDir, ModeSymlink, ModeIrregular for special files, 0 for regular ones
	links         uint64      // how many names the file has
	size          int64
	changed       int64 // when it was changed or renamed, in ns; nobody can choose it
	inode, device uint64
}

// stamp shows that the entries of a folder are as they were.
type stamp struct {
	device, inode uint64
	changed       int64
}

// removeIn removes a name in a folder with all below it, also in folders whose
// mode forbids it, such as those of Go's module cache. It stays in the folder,
// whatever links somebody makes meanwhile.
func removeIn(root *os.Root, name string) error {
	if root.RemoveAll(name) == nil {
		return nil
	}
	_ = root.Chmod(name, 0o700)
	if below, err := root.OpenRoot(name); err == nil {
		_ = fs.WalkDir(below.FS(), ".", func(path string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				_ = below.Chmod(path, 0o700)
			}
			return nil
		})
		_ = below.Close()
	}
	return root.RemoveAll(name)
}

// linksTo lists the links that are followed on the way to a path, it among them,
// which lie in folders that commands can change.
func linksTo(path string, bases []string) []string {
	var out []string
	at, rest := "/", strings.Split(filepath.Clean(path), "/")[1:]
	for len(rest) > 0 && len(out) < 40 {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		text, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		if outermost(bases, next) != "" {
			out = append(out, next)
		}
		if filepath.IsAbs(text) {
			at = "/"
		}
		rest = append(strings.Split(filepath.Clean(filepath.Join(at, text)), "/")[1:], rest...)
		at = "/"
	}
	return out
}
