//go:build unix

package server

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// readerClosed reports whether the reader of a pipe or socket has closed its end.
// It does not block.
func readerClosed(out syscall.Conn) bool {
	raw, err := out.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	_ = raw.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd)}} // POLLERR and POLLHUP need not be requested
		n, err := unix.Poll(poll, 0)
		gone = err == nil && n > 0 && poll[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
	})
	return gone
}
