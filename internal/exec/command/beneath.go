package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// errLinked is the error of openParent when the path goes through a link or a file.
var errLinked = errors.New("there is a link on the way, or a file")

// copyLimit is the limit of a file that gets a copy to replace its hard links, in
// bytes.
const copyLimit = 64 << 20

// copySuffix ends the name of a new file that replaces another one.
const copySuffix = ".mcp-toolset-copy"

// facts describes the file under a name.
type facts struct {
	kind          fs.FileMode // ModeDir, ModeSymlink, ModeIrregular for special files, 0 for regular ones
	links         uint64      // number of names (hard links) of the file
	size          int64
	changed       int64 // ctime in ns, set by a change or rename; no program can choose it
	inode, device uint64
}

// stamp identifies a state of a folder: an equal stamp proves that its entries are the
// same.
type stamp struct {
	device, inode uint64
	changed       int64
}

// removeIn removes a name in a folder and everything below it, including folders whose
// mode forbids it, as in Go's module cache. It never leaves the folder, even if another
// process creates links meanwhile.
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

// linksTo returns the links that path goes through, including path itself, as far as
// they are in folders that commands can change.
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
