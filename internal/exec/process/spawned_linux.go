package process

import (
	"context"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// spawned is a supervisor that the spawner started.
type spawned struct {
	spawner *spawner
	id      uint64        // of the request
	number  int           // pid
	handle  *os.File      // pidfd; nil: the kernel has none
	done    chan struct{} // closed when its end is known
	ended   string        // how it ended, after done
	errors  *os.File      // read end of its standard error
	copied  chan struct{} // closed at the end of errors
}

// startChild starts a supervisor. continues and late are those of forkSelf.
func (r *Runner) startChild(ctx context.Context, t Tier, theirs *os.File, stderr io.Writer, late func()) (_ child, continues bool, err error) {
	if t != PIDNamespace {
		return r.forkSelf(ctx, attributes(t), theirs, stderr, late)
	}
	n, err := r.useSpawner(ctx)
	if err != nil {
		return nil, false, err
	}
	in, out, err := os.Pipe()
	if err != nil {
		r.leave(n)
		return nil, false, err
	}
	_ = out.Fd() // makes it block
	a, err := n.ask(ctx, opStart, theirs, out)
	_ = out.Close()
	if err != nil {
		_ = in.Close()
		r.leave(n)
		return nil, false, err
	}
	h := a.child
	h.errors, h.copied = in, make(chan struct{})
	go func() {
		defer close(h.copied)
		_, _ = io.Copy(stderr, in)
	}()
	return h, false, nil
}

func (h *spawned) pid() int      { return h.number }
func (h *spawned) state() string { return h.ended }

func (h *spawned) signal(s syscall.Signal) {
	select {
	case <-h.done:
		return
	default:
	}
	if h.handle == nil {
		_ = unix.Kill(h.number, s)
		return
	}
	h.control(func(fd int) { _ = unix.PidfdSendSignal(fd, s, nil, 0) })
}

// control calls f with the pidfd unless it is closed.
func (h *spawned) control(f func(fd int)) {
	if raw, err := h.handle.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { f(int(fd)) })
	}
}

// wait waits for the end of the supervisor, also if the spawner does not report it.
func (h *spawned) wait() {
	gone := make(chan struct{})
	go h.watch(gone)
	select {
	case <-h.done:
	case <-gone:
		h.conclude()
	case <-h.spawner.exited: // the kernel kills it
		if h.signal(unix.SIGKILL); h.handle != nil {
			select {
			case <-gone:
			case <-time.After(killWait):
			}
		}
		h.conclude()
	}
	select {
	case <-h.copied:
	case <-time.After(time.Second): // another process has its standard error
	}
	_ = h.errors.Close()
	if h.handle != nil {
		_ = h.handle.Close()
	}
	h.spawner.runner.leave(h.spawner)
}

// watch closes gone at the end of the supervisor. It returns when the pidfd is closed.
func (h *spawned) watch(gone chan<- struct{}) {
	if h.handle == nil {
		return
	}
	raw, err := h.handle.SyscallConn()
	if err != nil {
		return
	}
	ended := false
	_ = raw.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		ended = n > 0 && err == nil
		return ended
	})
	if ended {
		close(gone)
	}
}

// conclude waits until the spawner reports how the supervisor ended, for a second at
// most. It continues a stopped spawner.
func (h *spawned) conclude() {
	n := h.spawner
	if !n.hasExited() && stopped(n.child.pid()) {
		n.child.signal(unix.SIGCONT)
	}
	text := "how is not known"
	select {
	case <-h.done:
	case <-n.exited:
		text = "signal: " + unix.SIGKILL.String()
	case <-time.After(time.Second):
	}
	n.conclude(h.id, text)
}

// conclude records how a supervisor ended, unless that is known.
func (n *spawner) conclude(id uint64, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if h := n.spawned[id]; h != nil {
		delete(n.spawned, id)
		h.ended = text
		close(h.done)
	}
}
