package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// swapNames exchanges two names in dir in one step.
func swapNames(dir *os.Root, a, b string) error {
	return onFolder(dir, func(fd int) error { return unix.RenameatxNp(fd, a, fd, b, unix.RENAME_SWAP) })
}
