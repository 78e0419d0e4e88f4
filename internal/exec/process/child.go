//go:build linux || darwin

package process

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// child is a process that runs this program for the server: a supervisor or the
// spawner.
type child interface {
	pid() int
	// signal sends a signal. It does nothing after the end of the process.
	signal(syscall.Signal)
	// wait waits for the end of the process. It must be called once.
	wait()
	// state describes how the process ended. It is valid after wait.
	state() string
}

// errSpawnerEnded is the error of a request to a spawner that has ended.
var errSpawnerEnded = errors.New("the process that starts supervisors ended")

// errNoDescriptor is the error of a request whose answer has lost its descriptor: the server
// has no free one.
var errNoDescriptor = errors.New("no file descriptor is free")

// forked is a child that a thread of this process started.
type forked struct {
	cmd     *exec.Cmd
	release func() // releases the thread
}

func (f *forked) pid() int                { return f.cmd.Process.Pid }
func (f *forked) signal(s syscall.Signal) { _ = f.cmd.Process.Signal(s) }
func (f *forked) state() string           { return f.cmd.ProcessState.String() }

func (f *forked) wait() {
	_ = f.cmd.Wait()
	f.release()
}

// forkSelf starts this program with one end of a socket. continues reports that ctx ended
// and the start continues in the background: then late is called when it is over,
// and the process that it may have started is killed.
func (r *Runner) forkSelf(ctx context.Context, attr *syscall.SysProcAttr, theirs *os.File, stderr io.Writer, late func()) (_ child, continues bool, err error) {
	self, err := findSelf()
	if err != nil {
		return nil, false, err
	}
	cmd := &exec.Cmd{
		Path: self[0], Args: []string{self[1], Arg},
		Env: HelperEnv, Dir: "/",
		Stderr:      stderr,
		ExtraFiles:  []*os.File{theirs},
		SysProcAttr: attr,
		WaitDelay:   time.Second,
	}
	f, continues, err := r.fork(ctx, func() error { return r.start(cmd) }, func(err error) {
		if err == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
		late()
	})
	if err != nil {
		return nil, continues, err
	}
	return &forked{cmd, func() { r.release(f) }}, false, nil
}
