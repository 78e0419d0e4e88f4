package bash

import (
	"context"
	"os"
	"time"
)

// Send writes to the standard input of the command.
func (e *taskJob) Send(ctx context.Context, input []byte) (n int, err error) {
	if e.input == nil {
		return 0, os.ErrClosed
	}
	if err := e.input.SetWriteDeadline(time.Time{}); err != nil {
		return 0, os.ErrClosed
	}
	// A write waits while the pipe is full.
	stop := context.AfterFunc(ctx, func() { _ = e.input.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	return e.input.Write(input)
}

// CloseInput ends the standard input of the command.
func (e *taskJob) CloseInput() error {
	if e.input == nil {
		return nil
	}
	return e.input.Close()
}

// HasInput reports whether the command was started with an open standard input.
func (e *taskJob) HasInput() bool { return e.input != nil }

// Containment reports whether the command is contained and, if not, whether it was to run
// outside the sandbox.
func (e *taskJob) Containment() (contained, left bool) { return e.inside, e.left }

// CloseInput closes the input of a command that could not be started.
func (j *job) CloseInput() error {
	if j.input == nil {
		return nil
	}
	return j.input.Close()
}
