//go:build linux || darwin

package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// processID identifies a process until the system restarts, although pids are
// reused.
type processID struct {
	pid   int
	start uint64 // in clock ticks since the system started
}

// tree is a command and all processes it started, in its supervisor.
type tree struct {
	sys    *system
	pid    int
	orders chan ending

	shell chan unix.WaitStatus // exit status of the command itself
	alive bool                 // whether another process was alive when shell was sent
	empty chan struct{}        // closed when no process is left

	relay  *relay           // of its terminal; nil: it has none
	group  atomic.Int64     // process group of the command while it runs; otherwise 0
	begun  atomic.Bool      // set when the command is being started, or must not be started
	status *unix.WaitStatus // used by reap only
}

func newTree(sys *system) *tree {
	return &tree{sys: sys, orders: make(chan ending), shell: make(chan unix.WaitStatus, 1), empty: make(chan struct{})}
}

// start starts the command, confined if c requires it. It must be called on the
// thread that lives as long as the supervisor.
func (t *tree) start(c command, files []int, confine Confine) error {
	join, joined := func() error { return nil }, !c.Network
	if c.Network {
		last := len(files) - 1
		network := files[last]
		files = files[:last]
		join = func() error {
			if joined {
				return nil
			}
			err := joinNetwork(network)
			joined = err == nil
			return err
		}
	}
	std, err := standard(c, files)
	if err != nil {
		return err
	}
	defer t.sys.raiseOOM(c.Confine != nil)()
	if c.Confine == nil {
		if err := join(); err != nil {
			return err
		}
		return t.fork(c, std)
	}
	var started error
	begun := false
	err = confine(c.Confine, join, func(launcher ...string) error {
		begun = true
		c.Args = append(launcher, c.Args...)
		if started = errNotJoined; joined {
			started = t.fork(c, std)
		}
		return started
	})
	switch {
	case started != nil:
		return started
	case err != nil:
		return fmt.Errorf("containing the command: %w", err)
	case !begun:
		return errors.New("containing the command: it was not started")
	}
	return nil
}

// errNotJoined is the error if the network of a command is not that of its session.
var errNotJoined = errors.New("starting a command: it is not in the network of the session")

// standard returns the descriptors of standard input, output and error of a
// command.
func standard(c command, files []int) ([]uintptr, error) {
	for _, fd := range files {
		// Descriptors that this program opened are non-blocking. That is a property
		// of the pipe's end, shared by all its descriptors, and commands do not
		// expect it.
		if err := unix.SetNonblock(fd, false); err != nil {
			return nil, fmt.Errorf("preparing the files of a command: %w", err)
		}
	}
	output, files := files[0], files[1:]
	std := []uintptr{0, uintptr(output), uintptr(output)}
	if c.Errors {
		std[2] = uintptr(files[len(files)-1])
	}
	if c.Input {
		std[0] = uintptr(files[0])
		return std, nil
	}
	null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", os.DevNull, err)
	}
	std[0] = uintptr(null)
	return std, nil
}

// fork protects this process from the command and starts the command from this
// thread.
func (t *tree) fork(c command, std []uintptr) error {
	if err := t.sys.close(); err != nil {
		return err
	}
	var rel *relay
	if c.Terminal != nil {
		var err error
		if rel, err = newRelay(*c.Terminal, int(std[0]), int(std[1])); err != nil {
			return fmt.Errorf("making a terminal: %w", err)
		}
		std = []uintptr{uintptr(rel.slave), uintptr(rel.slave), uintptr(rel.slave)}
	}
	attr := &syscall.ProcAttr{Dir: c.Dir, Env: c.Env, Files: std}
	if c.Env == nil {
		attr.Env = []string{} // nil would mean our own environment
	}
	attr.Sys = t.sys.attributes(c.Confine != nil)
	attr.Sys.Setctty = rel != nil // of its standard input
	if !t.begun.CompareAndSwap(false, true) {
		return errServerEnded
	}
	pid, err := syscall.ForkExec(c.Args[0], c.Args, attr)
	if err != nil {
		return explain(c, err)
	}
	if rel != nil {
		rel.start()
		t.relay = rel
	} else {
		for _, fd := range slices.Compact(std) { // output and errors are neighbours
			_ = unix.Close(int(fd))
		}
	}
	t.pid = pid
	t.group.Store(int64(pid))
	if err := t.sys.started(pid, c.Confine != nil); err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		return fmt.Errorf("putting a command into its cgroup: %w", err)
	}
	go t.reap()
	return nil
}

// explain returns the error of a failed start, with its likely cause: the system
// returns the same error for the folder, the program and its interpreter.
func explain(c command, err error) error {
	info, statErr := os.Stat(c.Dir)
	switch {
	case statErr != nil:
		return fmt.Errorf("starting a command in %s: %w", c.Dir, statErr.(*os.PathError).Err)
	case !info.IsDir():
		return fmt.Errorf("starting a command in %s: it is not a folder", c.Dir)
	case unix.Access(c.Dir, unix.X_OK) != nil:
		return fmt.Errorf("starting a command in %s: the folder may not be entered", c.Dir)
	}
	return fmt.Errorf("starting %s: %w", c.Args[0], err)
}

// interrupt sends SIGINT to the process group of the command, as a terminal does.
func (t *tree) interrupt() {
	if group := t.group.Load(); group > 1 {
		_ = unix.Kill(int(-group), unix.SIGINT)
	}
}

// reap waits for the command and for all orphans that this process adopts.
func (t *tree) reap() {
	defer close(t.empty)
	flags := 0
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, waitAll|flags, nil)
		switch {
		case err == unix.EINTR:
		case err != nil: // no child is left
			t.alive = t.sys.groupAlive(t.pid)
			t.ended(nil)
			for ; t.sys.groupAlive(t.pid); time.Sleep(settle / 10) {
			}
			return
		case pid == 0: // the command has ended, another process is alive
			t.alive, flags = true, 0
			t.ended(nil)
		case pid == t.pid:
			// Processes that have already ended do not count as alive.
			flags = unix.WNOHANG
			t.group.Store(0)
			t.ended(&status)
		}
	}
}

// ended reports the exit status of the command. It is called with the status first,
// and again with nil when it is known whether other processes are alive; then it
// sends the status.
func (t *tree) ended(s *unix.WaitStatus) {
	if s != nil {
		t.status = s
		return
	}
	if t.status != nil {
		t.shell <- *t.status
		t.status = nil
	}
}

// live waits until no process is left, ends those that must be ended, and returns
// how the command ended.
func (t *tree) live(grace time.Duration) (e Exit) {
	var status unix.WaitStatus
	select {
	case status = <-t.shell:
		if t.alive {
			t.linger(&e, grace)
		}
	case o := <-t.orders:
		e.Ended = true
		e.Stuck = !t.end(o.Grace)
		select {
		case status = <-t.shell:
		default:
			e.Stuck, status = true, unix.WaitStatus(unix.SIGKILL)
		}
	}
	switch {
	case status.Signaled():
		e.Code, e.Signal, e.Core = -1, status.Signal(), status.CoreDump()
	default:
		e.Code = status.ExitStatus()
	}
	e.Usage = usageOfAll()
	t.sys.release()
	return e
}

// linger waits for processes that are alive after the exit of the command, and ends
// them after settle.
func (t *tree) linger(e *Exit, grace time.Duration) {
	select {
	case <-t.empty:
		return
	case <-time.After(settle):
		e.Leftover, e.Left = t.sys.names(t.pid)
	case o := <-t.orders:
		grace = o.Grace
	}
	e.Stuck = !t.end(grace)
}

// end ends all processes and reports whether none is left.
func (t *tree) end(grace time.Duration) bool {
	if grace > 0 {
		t.sys.terminate(t.pid)
	}
	deadline := time.Now().Add(grace)
	for time.Now().Before(deadline) {
		select {
		case <-t.empty:
			return true
		case <-time.After(until(deadline)):
		case o := <-t.orders:
			if sooner := time.Now().Add(o.Grace); sooner.Before(deadline) {
				deadline = sooner
			}
		}
	}
	return t.killAll()
}

// killAll kills until no process is left, and reports success. It gives up when the
// list of processes has not changed for killWait and slack: on a busy machine, many
// processes take long to die.
func (t *tree) killAll() bool {
	const again = 10 * time.Millisecond
	var before []processID
	for deadline := time.Now().Add(killWait + slack); time.Now().Before(deadline); {
		left := t.sys.kill(t.pid)
		if !slices.Equal(left, before) {
			deadline, before = time.Now().Add(killWait+slack), left
		}
		select {
		case <-t.empty:
			return true
		case <-time.After(again):
		}
	}
	return false
}

func usageOfAll() Usage {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_CHILDREN, &u) != nil {
		return Usage{}
	}
	return Usage{User: time.Duration(u.Utime.Nano()), System: time.Duration(u.Stime.Nano()), MaxRSS: int64(u.Maxrss) * rssUnit}
}
