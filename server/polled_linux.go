package server

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// polled reads a file into which bytes come when they like: a pipe, a socket, a
// terminal. It waits for them in the runtime's poller. A read that blocks keeps a
// processor (P) until the runtime looks for such reads, up to 10 ms later, and so
// long the calls just read have one less to run on.
//
// The flags of the file stay as they are: others may have it open, too.
type polled struct {
	file  *os.File
	ready *os.File        // an epoll instance, itself readable when the file is
	wait  syscall.RawConn // of ready
}

// waitable is the same input, if it can be waited for in the poller; end ends a
// Read that waits.
func waitable(in io.Reader) (r io.Reader, end func()) {
	if file, ok := in.(*os.File); ok {
		if p, err := newPolled(file); err == nil {
			return p, func() { p.ready.Close() }
		}
	}
	return in, func() {}
}

// newPolled fails on regular files, of which nothing need be waited for.
func newPolled(file *os.File) (*polled, error) {
	conn, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(poll, true); err != nil { // or the runtime does not try to poll it
		unix.Close(poll)
		return nil, err
	}
	ready := os.NewFile(uintptr(poll), "epoll")
	var added error
	err = conn.Control(func(fd uintptr) {
		added = unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, int(fd), &unix.EpollEvent{Events: unix.EPOLLIN})
	})
	wait, failed := ready.SyscallConn()
	polls := ready.SetReadDeadline(time.Time{}) // fails if the runtime does not poll it
	if err := errors.Join(err, added, failed, polls); err != nil {
		ready.Close()
		return nil, err
	}
	return &polled{file, ready, wait}, nil
}

// Read waits until there are bytes or none will come.
func (p *polled) Read(b []byte) (int, error) {
	err := p.wait.Read(func(poll uintptr) bool {
		var events [1]unix.EpollEvent
		n, err := unix.EpollWait(int(poll), events[:], 0)
		return n > 0 || err != nil // a failure is for the read to find
	})
	if err != nil {
		return 0, err
	}
	return p.file.Read(b)
}
