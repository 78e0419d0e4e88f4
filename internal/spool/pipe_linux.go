package spool

import (
	"os"

	"golang.org/x/sys/unix"
)

// enlarge makes a pipe hold as much as the system lets everybody have, so that
// the command waits less for us. It is as good without.
func enlarge(pipe *os.File) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
}
