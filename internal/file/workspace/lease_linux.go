package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// Writing reports whether a program has the file open for writing or mapped as writable. If
// not, a program that opens it for writing waits until file is closed. It returns false where that
// cannot be found out: for files of other users and on network file systems.
func Writing(file *os.File) bool {
	raw, err := file.SyscallConn()
	if err != nil {
		return false
	}
	_ = raw.Control(func(fd uintptr) { _, err = unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_RDLCK) })
	return err == unix.EAGAIN
}

// writer is Writing without an effect on programs that open the file.
func writer(file *os.File) bool {
	yes := Writing(file)
	if raw, err := file.SyscallConn(); err == nil && !yes {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETLEASE, unix.F_UNLCK) })
	}
	return yes
}
