package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// renameExclusive renames a file in dir. It returns EEXIST if the new name is taken.
func renameExclusive(dir *os.Root, from, to string) error {
	return onFolder(dir, func(fd int) error { return unix.RenameatxNp(fd, from, fd, to, unix.RENAME_EXCL) })
}
