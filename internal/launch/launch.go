// Package launch starts programs without waiting for one that hangs.
package launch

import (
	"context"
	"errors"
	"os/exec"
	"sync/atomic"
	"time"
)

const (
	// startTime is how long a program may take to start.
	startTime = 5 * time.Second
	// maxHung bounds the starts that hang, because each keeps a thread.
	maxHung = 32
)

var (
	// ErrTime reports that a program took too long to start.
	ErrTime = errors.New("the program does not start: its file system or an emulator does not answer")
	// ErrHung reports that a program was not started because too many hang.
	ErrHung = errors.New("too many programs hang as they start")
)

// hung counts the starts that go on although nobody waits for them.
var hung atomic.Int32

// Start starts a command as cmd.Start does, within a few seconds. A process can
// hang before it becomes another program, and cmd.Start waits for it without a
// limit. When ctx ends earlier, the error is its cause. After ErrTime, or a cause
// of ctx, cmd must not be used any more: it may still start, and is killed then.
//
// over is called once after a start that failed, in the background if it goes
// on: what the process was to use may be closed then. It may be nil.
func Start(ctx context.Context, cmd *exec.Cmd, over func()) error {
	return start(ctx, cmd, cmd.Start, over)
}

func start(ctx context.Context, cmd *exec.Cmd, begin func() error, over func()) error {
	if over == nil {
		over = func() {}
	}
	if hung.Load() >= maxHung {
		over()
		return ErrHung
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, ErrTime)
	defer cancel()
	done := make(chan error) // without a buffer: what is not received is late
	go func() {
		err := begin()
		select {
		case done <- err:
			return
		case <-ctx.Done():
		}
		if err == nil {
			end(cmd)
		}
		over()
		hung.Add(-1)
	}()
	select {
	case err := <-done:
		if err != nil {
			over()
		}
		return err
	case <-ctx.Done():
		hung.Add(1)
		return context.Cause(ctx)
	}
}

// end kills a process that has just started, and waits for it.
func end(cmd *exec.Cmd) {
	if cmd.Cancel == nil || cmd.Cancel() != nil {
		_ = cmd.Process.Kill()
	}
	_ = cmd.Wait()
}
