//go:build unix

package document

import (
	"os"

	"golang.org/x/sys/unix"
)

// own returns a second descriptor of f. A start that hangs may hold it after f has been
// closed.
func own(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
