package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// Tests replace these to simulate systems without such calls.
var (
	exclusive = renameExclusive
	linkName  = (*os.Root).Link
)

// renameNew renames a file in dir. It returns fs.ErrExist if the new name is taken. On
// systems without such a call it works in two steps, by a second name (hard link) for
// the file. On a file system without links it can only check first, and another process
// may take the name in between.
func renameNew(dir *os.Root, from, to string) error {
	err := exclusive(dir, from, to)
	// Sandboxes return EPERM for calls that they do not know.
	if !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.EPERM) {
		return err
	}
	err = linkName(dir, from, to)
	if err == nil {
		_ = dir.Remove(from) // sweep removes the file if this fails
		return nil
	}
	// The error for missing support of links differs by system.
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := dir.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return dir.Rename(from, to)
}
