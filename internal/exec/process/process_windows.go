package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/windows"

	"mcp-toolset/internal/text/plain"
)

// A command on Windows needs no supervisor: the server holds its job object, and
// the system ends the processes in it with the server.

func systemTiers() []Tier { return []Tier{Job} }

// supervisor is a placeholder.
type supervisor struct{ exited chan struct{} }

func (s *supervisor) discard()        {}
func (s *supervisor) hasExited() bool { return false }

// spawn reports whether commands can be ended, by making the job objects that they
// need.
func (r *Runner) spawn(context.Context, Tier) (*supervisor, error) {
	if _, err := markJob(); err != nil {
		return nil, &failure{Text: err.Error(), Refused: true}
	}
	j, err := newJob()
	if err != nil {
		return nil, &failure{Text: err.Error(), Refused: true}
	}
	j.close()
	return &supervisor{exited: make(chan struct{})}, nil
}

// Process is a command that was started.
type Process struct {
	runner *Runner
	job    *job
	handle windows.Handle // of the command itself

	done  chan struct{}
	exit  Exit
	ended atomic.Bool // End was called
}

// Start starts a command. ctx applies to the start only.
func (r *Runner) Start(ctx context.Context, spec Spec) (*Process, error) {
	defer spec.closeFiles()
	if spec.Output == nil {
		return nil, errors.New("starting a command: there is no output")
	}
	if err := spec.check(); err != nil {
		return nil, err
	}
	if spec.Confine != nil {
		return nil, fmt.Errorf("containing the command: %w", errors.ErrUnsupported)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.alive.Done()
	p, err := begin(&spec)
	if err != nil {
		return nil, err
	}
	p.runner = r
	return p, r.adopt(p)
}

// begin starts a command in a job object of its own. The command is in it before it
// runs.
func begin(spec *Spec) (*Process, error) {
	mark, err := markJob()
	if err != nil {
		return nil, fmt.Errorf("starting a command: %w", err)
	}
	j, err := newJob()
	if err != nil {
		return nil, fmt.Errorf("starting a command: %w", err)
	}
	info, err := create(spec)
	if err != nil {
		j.close()
		return nil, explain(spec, err)
	}
	defer windows.CloseHandle(info.Thread)
	for _, h := range []windows.Handle{mark, j.handle} {
		if err = windows.AssignProcessToJobObject(h, info.Process); err != nil {
			err = fmt.Errorf("putting a command into its job object: %w", err)
			break
		}
	}
	if err == nil {
		_, err = windows.ResumeThread(info.Thread)
	}
	if err != nil {
		_ = windows.TerminateProcess(info.Process, killed)
		_ = windows.CloseHandle(info.Process)
		j.close()
		return nil, err
	}
	return &Process{job: j, handle: info.Process, done: make(chan struct{})}, nil
}

// explain returns the error of a failed start, with its likely cause.
func explain(spec *Spec, err error) error {
	info, statErr := os.Stat(spec.Dir)
	switch {
	case statErr != nil:
		var path *fs.PathError
		if errors.As(statErr, &path) {
			statErr = path.Err
		}
		return fmt.Errorf("starting a command in %s: %w", spec.Dir, statErr)
	case !info.IsDir():
		return fmt.Errorf("starting a command in %s: it is not a folder", spec.Dir)
	}
	return fmt.Errorf("starting %s: %w", spec.Args[0], err)
}

// adopt registers a process to be ended by Close.
func (r *Runner) adopt(p *Process) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	closed := r.closed
	if !closed {
		r.running[p] = struct{}{}
	} else {
		p.job.kill()
	}
	r.alive.Add(1)
	go func() {
		defer r.alive.Done()
		p.watch()
	}()
	if closed {
		return ErrClosed
	}
	return nil
}

// watch waits for the end of a command, then ends the processes that it left
// running.
func (p *Process) watch() {
	_, err := windows.WaitForSingleObject(p.handle, windows.INFINITE)
	e := Exit{Ended: p.ended.Load()}
	var code uint32
	switch {
	case err == nil && e.Ended:
		e.Code, e.Signal = -1, syscall.SIGKILL
	case err == nil:
		if err = windows.GetExitCodeProcess(p.handle, &code); err == nil {
			e.Code = int(code)
		}
	}
	if err != nil {
		e.Code, e.Lost = -1, fmt.Errorf("waiting for a command: %w", err)
	}
	if !e.Ended && !within(settle, p.job.alone) {
		e.Leftover, e.Left = p.job.names()
		for i, name := range e.Leftover {
			e.Leftover[i] = plain.Line(name)
		}
	}
	p.job.kill()
	e.Stuck = !within(killWait+slack, p.job.empty)
	e.Usage = p.job.usage()
	p.job.close()
	_ = windows.CloseHandle(p.handle)
	p.exit = e
	p.runner.mu.Lock()
	delete(p.runner.running, p)
	p.runner.mu.Unlock()
	close(p.done)
}

// Done returns a channel that is closed when the command and all processes it
// started have ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits until the command and all processes it started have ended, and returns
// how the command ended.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}

// Interrupt does nothing: a command here has no console to be interrupted by. It returns a closed
// channel.
func (p *Process) Interrupt() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// End ends the command and all processes it started at once: Windows has no signal
// that asks a process without a window to end. It returns when no process is left,
// or with an error if a process does not end.
func (p *Process) End(time.Duration) error {
	p.ended.Store(true)
	p.job.kill()
	select {
	case <-p.done:
	case <-time.After(killWait + 2*slack):
		return errStuck
	}
	if p.exit.Stuck {
		return errStuck
	}
	return nil
}

// Confine is documented with the version for Linux.
type Confine func(spec json.RawMessage, join func() error, start func(launcher ...string) error) error

// Serve fails: commands have no supervisor on Windows.
func Serve(Confine) int {
	fmt.Fprintln(os.Stderr, "commands have no supervisor on Windows")
	return 2
}
