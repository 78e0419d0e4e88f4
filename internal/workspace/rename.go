package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// What a test has in place of these is not to be had.
var (
	exclusive = renameExclusive
	linkName  = (*os.Root).Link
)

// renameNew renames a file in dir, with fs.ErrExist if there is anything by the
// new name. Systems without such a renaming can still do so in two steps, by a
// second name for the file; a file system without links either leaves nothing
// but to look, and then somebody may be faster.
func renameNew(dir *os.Root, from, to string) error {
	err := exclusive(dir, from, to)
	// Sandboxes answer EPERM to calls that they do not know.
	if !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.EPERM) {
		return err
	}
	err = linkName(dir, from, to)
	if err == nil {
		_ = dir.Remove(from) // what stays is swept
		return nil
	}
	// Which error says that there are no links differs.
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := dir.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return dir.Rename(from, to)
}
