package bash

import (
	"context"
	"errors"
	"os"
	"time"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/internal/text/terminal"
	"mcp-toolset/tools"
)

// Size of the terminal of a command.
const columns, rows = 80, 24

// errTerminal returns the error of a command that cannot have a terminal here.
func errTerminal(why string) error {
	return &tools.Fault{Fact: "a command has a terminal only inside the sandbox of Linux: " + why, Next: "Use stdin instead of tty."}
}

// canTerminal returns the error of a command with a terminal, or nil if it can have one.
func canTerminal(ctx context.Context, o Options) error {
	if err := o.Commands.Terminals(ctx); err != nil {
		return errTerminal(plain.Line(err.Error()))
	}
	return nil
}

// terminal returns a terminal for the command, and where its answers to the program arrive.
// Answers that are not taken are lost.
func (c *call) terminal(ctx context.Context) (*terminal.Emulator, <-chan []byte, error) {
	if err := canTerminal(ctx, c.o); err != nil {
		return nil, nil, err
	}
	answers := make(chan []byte, 16)
	return terminal.NewEmulator(columns, rows, func(p []byte) {
		select {
		case answers <- p:
		default:
		}
	}), answers, nil
}

// reply types the answers of the terminal until the end of the command, which closes its input.
func (j *job) reply(answers <-chan []byte) {
	for {
		select {
		case p := <-answers:
			_, _ = j.input.Write(p)
		case <-j.Done():
			return
		}
	}
}

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
	late := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(late)
		_ = e.input.SetWriteDeadline(time.Unix(1, 0))
	})
	defer func() {
		if !stop() {
			<-late
		}
		_ = e.input.SetWriteDeadline(time.Time{}) // for the answers of a terminal
	}()
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

// Terminal returns the terminal of the command, or nil if it has none.
func (e *taskJob) Terminal() *terminal.Emulator { return e.screen }

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
