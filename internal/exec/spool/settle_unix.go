//go:build unix

package spool

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// readSome waits for output and stores it. buf is its buffer.
func (l *Log) readSome(r *os.File, buf []byte) error {
	raw, err := r.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		l.reading.Lock()
		defer l.reading.Unlock()
		n, err := syscall.Read(int(fd), buf)
		switch {
		case err == syscall.EINTR:
			return true // the caller reads again
		case err == syscall.EAGAIN:
			return false
		case err != nil:
			failed = err
		case n == 0:
			failed = io.EOF
		}
		l.append(buf[:max(n, 0)])
		return true
	})
	return errors.Join(err, failed)
}

// Settle waits until the log has all output from before the call, for at most wait.
func (l *Log) Settle(wait time.Duration) {
	target := int64(-1)
	for end := time.Now().Add(wait); !l.isDone() && time.Now().Before(end); time.Sleep(time.Millisecond) {
		if !l.reading.TryLock() {
			continue
		}
		size, _ := l.Bytes()
		if n, begun := l.inPipe(); target < 0 && begun {
			target = size + n
		}
		l.reading.Unlock()
		if target >= 0 && size >= target {
			return
		}
	}
}

// inPipe returns the number of bytes in the pipe. begun reports whether Pump has begun.
func (l *Log) inPipe() (n int64, begun bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.in == nil {
		return 0, false
	}
	raw, err := l.in.SyscallConn()
	if err != nil {
		return 0, true
	}
	_ = raw.Control(func(fd uintptr) {
		if m, err := unix.IoctlGetInt(int(fd), bytesWaiting); err == nil {
			n = int64(m)
		}
	})
	return n, true
}
