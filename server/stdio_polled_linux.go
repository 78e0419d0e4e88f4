package server

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// polled reads a file that blocks until bytes arrive: a pipe, a socket or a
// terminal. It waits in the runtime's poller. A blocking read would hold a
// processor (P) until the runtime notices, up to 10 ms later. During that time
// the calls just read have one processor less.
//
// polled does not change the file's flags, because other processes may have the
// file open too.
type polled struct {
	file  *os.File
	ready *os.File        // an epoll instance, which is readable when the file is
	wait  syscall.RawConn // of ready
}

// waitable returns an input that waits in the poller if possible, otherwise in.
// end ends a Read that waits.
func waitable(in io.Reader) (r io.Reader, end func()) {
	if file, ok := in.(*os.File); ok {
		if p, err := newPolled(file); err == nil {
			return p, func() { p.ready.Close() }
		}
	}
	return in, func() {}
}

// newPolled fails for regular files, which never block.
func newPolled(file *os.File) (*polled, error) {
	conn, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(poll, true); err != nil { // or the runtime does not poll it
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

// Read waits until there are bytes to read or the input has ended.
func (p *polled) Read(b []byte) (int, error) {
	err := p.wait.Read(func(poll uintptr) bool {
		var events [1]unix.EpollEvent
		n, err := unix.EpollWait(int(poll), events[:], 0)
		return n > 0 || err != nil // the read below will find the failure
	})
	if err != nil {
		return 0, err
	}
	return p.file.Read(b)
}
