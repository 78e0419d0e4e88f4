package bash

import (
	"context"
	"errors"
	"os"
	"time"
)

// Send writes to the standard input of the command.
func (e *taskJob) Send(ctx context.Context, input []byte) (n int, err error) {
	if e.input == nil {
		return 0, os.ErrClosed
	}
	switch err := e.input.SetWriteDeadline(time.Time{}); {
	case errors.Is(err, os.ErrNoDeadline):
		return e.sendBlocking(ctx, input)
	case err != nil:
		return 0, os.ErrClosed
	}
	// A write waits while the pipe is full.
	stop := context.AfterFunc(ctx, func() { _ = e.input.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	return e.input.Write(input)
}

// sendBlocking is Send for pipes without deadlines, as on Windows. A write that is not taken ends
// with the command.
func (e *taskJob) sendBlocking(ctx context.Context, input []byte) (n int, err error) {
	done := make(chan struct{})
	var written int
	var failed error
	go func() {
		defer close(done)
		written, failed = e.input.Write(input)
	}()
	select {
	case <-done:
		return written, failed
	case <-ctx.Done():
		return 0, os.ErrDeadlineExceeded
	}
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
