package spool

import (
	"os"

	"golang.org/x/sys/unix"
)

// bytesWaiting is the request for the number of bytes in a pipe.
const bytesWaiting = unix.TIOCINQ

// enlarge sets the capacity of a pipe to Linux's default limit for unprivileged users, 1 MiB, so
// that the command waits less for the reader. It ignores errors: a small pipe works too.
func enlarge(pipe *os.File) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
}
