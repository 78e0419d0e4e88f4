// Package launch starts programs without waiting for a start that hangs, and ends them with the
// processes of their group.
package launch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"
)

const (
	// startTime is the timeout for a program to start.
	startTime = 5 * time.Second
	// maxAbandoned is the limit of hanging starts, because each occupies a thread.
	maxAbandoned = 32
)

var (
	// ErrTime reports that a program took too long to start.
	ErrTime = errors.New("the program does not start: its file system or an emulator does not answer")
	// ErrTooMany reports that a program was not started because too many hang.
	ErrTooMany = errors.New("too many programs hang as they start")
)

// abandoned is the number of abandoned starts that still run.
var abandoned atomic.Int32

// Start starts a command like cmd.Start, with a timeout of 5 s. A process
// can hang before it executes the new program, and cmd.Start waits for it
// without a limit. If ctx ends before the program runs, Start returns its cause.
// After ErrTime or a cause of ctx, the caller must not use cmd any more: it may
// still start, and is then killed.
//
// Start first reads from the program and asks for its folder. On Linux a process that
// hangs between fork and exec stops the garbage collector, and with it all goroutines; one
// that hangs in a read or a stat stops only its own.
//
// Start calls over once if the start fails. If the start is abandoned, it does
// so in the background, when the start has ended. over may then close the files
// that the process was to use. It may be nil.
func Start(ctx context.Context, cmd *exec.Cmd, over func()) error {
	return start(ctx, cmd, func() error {
		touch(cmd)
		return cmd.Start()
	}, over)
}

// touch returns when the file systems of the program and of its working folder answer.
func touch(cmd *exec.Cmd) {
	if cmd.Dir != "" {
		_, _ = os.Stat(cmd.Dir)
	}
	program := cmd.Path
	if !filepath.IsAbs(program) {
		program = filepath.Join(cmd.Dir, program)
	}
	if info, err := os.Stat(program); err != nil || !info.Mode().IsRegular() {
		return // opening a named pipe would block
	}
	if f, err := os.Open(program); err == nil {
		_, _ = f.Read(make([]byte, 1))
		f.Close()
	}
}

func start(ctx context.Context, cmd *exec.Cmd, begin func() error, over func()) error {
	if over == nil {
		over = func() {}
	}
	if abandoned.Load() >= maxAbandoned {
		over()
		return ErrTooMany
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, ErrTime)
	defer cancel()
	done := make(chan error, 1)
	var decided atomic.Bool // set by who decides: the start has ended first, or the caller has given up
	go func() {
		err := begin()
		if decided.CompareAndSwap(false, true) {
			done <- err
			return
		}
		if err == nil {
			end(cmd)
		}
		abandoned.Add(-1)
		over()
	}()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		if decided.CompareAndSwap(false, true) {
			abandoned.Add(1)
			return context.Cause(ctx)
		}
		err = <-done // the program runs; the caller ends it as any other
	}
	if err != nil {
		over()
	}
	return err
}

// end kills a process that has just started, with the group or session that it leads, and
// waits for its end.
func end(cmd *exec.Cmd) {
	if cmd.Cancel == nil || cmd.Cancel() != nil {
		kill(cmd)
	}
	_ = cmd.Wait()
}
