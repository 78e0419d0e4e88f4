package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"mcp-toolset/internal/exec/process"
)

// Command describes a stdio server to start.
type Command struct {
	Program string // as in the settings; may be searched for in the PATH
	Args    []string
	Env     []string // the whole environment
	Dir     string   // absolute
}

// Process is a running stdio server. The code that started it must close the
// three streams.
type Process interface {
	Input() io.WriteCloser // the server's standard input
	Output() io.ReadCloser // the server's standard output
	Errors() io.ReadCloser // the server's standard error
	// Done is closed when the process tree has ended. How then returns how the
	// server ended, such as "with exit code 1".
	Done() <-chan struct{}
	Ending() string
	// End ends the process tree: it asks the server to end, and kills what is
	// left after grace.
	End(grace time.Duration) error
}

// local starts each server under a supervisor. The supervisor ends the process
// tree of the server, even if this process is killed. Servers get no PID
// namespace, because some start containers or inspect processes of the machine.
type local struct {
	log *slog.Logger

	mu     sync.Mutex
	runner *process.Runner
	closed bool
}

func (l *local) start(ctx context.Context, c Command) (Process, error) {
	program, found := lookPath(c.Program, c.Dir, c.Env)
	if !found {
		return nil, notFound(c.Program)
	}
	runner := l.get()
	if runner == nil {
		return nil, process.ErrClosed
	}
	var made pipes
	defer made.closeServerEnds()
	p := &child{input: made.new(true), output: made.new(false), errors: made.new(false)}
	if made.err != nil {
		p.closeStreams()
		return nil, fmt.Errorf("making pipes: %w", made.err)
	}
	spec := process.Spec{
		Args: append([]string{program}, c.Args...), Env: c.Env, Dir: c.Dir, Grace: endGrace,
		Input: made.serverEnds[0], Output: made.serverEnds[1], Errors: made.serverEnds[2],
	}
	made.serverEnds = nil // Start closes them
	var err error
	if p.Process, err = runner.Start(ctx, spec); err != nil {
		p.closeStreams()
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, &failure{reason: "programs cannot be started on this system", next: "Ask the user to use it over HTTP."}
		}
		return nil, &failure{reason: "it cannot be started: " + line(err.Error()), next: "Ask the user to correct its command in the settings, under mcpServers."}
	}
	return p, nil
}

// notFound returns the failure for a program that cannot be found or run.
func notFound(program string) *failure {
	if filepath.Base(program) == program {
		return &failure{
			reason: fmt.Sprintf("its program %s is not found in the PATH that it gets", line(program)),
			next:   "Ask the user to install it, or write its whole path into the settings, under mcpServers.",
		}
	}
	return &failure{
		reason: fmt.Sprintf("its program %s is not there or cannot be run", line(program)),
		next:   "Ask the user to correct its command in the settings, under mcpServers.",
	}
}

// get returns the runner, which it creates on first use, or nil after close.
func (l *local) get() *process.Runner {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	if l.runner == nil {
		c := process.Config{Log: l.log}
		if runtime.GOOS == "linux" {
			c.Tiers = []process.Tier{process.Cgroup, process.Subreaper}
		}
		l.runner = process.NewRunner(c)
	}
	return l.runner
}

func (l *local) close() error {
	l.mu.Lock()
	runner := l.runner
	l.closed = true
	l.mu.Unlock()
	if runner == nil {
		return nil
	}
	if err := runner.Close(0); err != nil {
		return fmt.Errorf("ending upstream servers: %w", err)
	}
	return nil
}

// pipes creates pipes and holds the ends that the server uses.
type pipes struct {
	serverEnds []*os.File
	err        error
}

// new creates a pipe and returns our end. write reports whether we write to it.
// An error is stored in p.err.
func (p *pipes) new(write bool) *os.File {
	r, w, err := os.Pipe()
	if err != nil {
		p.err = err
		return nil
	}
	if write {
		r, w = w, r
	}
	p.serverEnds = append(p.serverEnds, w)
	return r
}

func (p *pipes) closeServerEnds() {
	for _, f := range p.serverEnds {
		_ = f.Close()
	}
}

// child is a Process under a supervisor.
type child struct {
	*process.Process
	input, output, errors *os.File
}

func (c *child) Input() io.WriteCloser { return c.input }
func (c *child) Output() io.ReadCloser { return c.output }
func (c *child) Errors() io.ReadCloser { return c.errors }

// Ending describes how the server ended.
func (c *child) Ending() string {
	switch exit := c.Wait(); {
	case exit.Lost != nil:
		return "in an unknown way"
	case exit.Signal != 0:
		return fmt.Sprintf("by signal %d (%s)", int(exit.Signal), exit.Signal)
	default:
		return fmt.Sprintf("with exit code %d", exit.Code)
	}
}

func (c *child) closeStreams() {
	for _, f := range []*os.File{c.input, c.output, c.errors} {
		if f != nil {
			_ = f.Close()
		}
	}
}
