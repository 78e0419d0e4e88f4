//go:build unix

package gitfront

import (
	"os"

	"golang.org/x/sys/unix"
)

// replaceStdin makes a file the standard input of this process.
func replaceStdin(file *os.File) error {
	return unix.Dup2(int(file.Fd()), 0)
}
