//go:build !linux && !darwin && !windows

package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// errOther is the error of systems without supervisors.
var errOther = fmt.Errorf("running commands on this system: %w", errors.ErrUnsupported)

func systemTiers() []Tier { return nil }

// supervisor is a placeholder: supervisors exist on Linux and macOS only.
type supervisor struct{ exited chan struct{} }

func (s *supervisor) abandon()        {}
func (s *supervisor) discard()        {}
func (s *supervisor) hasExited() bool { return true }

func (r *Runner) spawn(context.Context, Tier) (*supervisor, error) { return nil, errOther }

// Process is a command that was started.
type Process struct{}

// Start fails with errOther.
func (r *Runner) Start(_ context.Context, spec Spec) (*Process, error) {
	spec.closeFiles()
	return nil, errOther
}

// Done returns a closed channel.
func (p *Process) Done() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// Wait returns at once.
func (p *Process) Wait() Exit { return Exit{} }

// End does nothing.
func (p *Process) End(time.Duration) error { return nil }

// Interrupt does nothing.
func (p *Process) Interrupt() <-chan struct{} { return p.Done() }

// Confine is documented with the version for Linux.
type Confine func(spec json.RawMessage, join func() error, start func(launcher ...string) error) error

// Serve prints errOther and returns the exit code for wrong usage.
func Serve(Confine) int {
	fmt.Fprintln(os.Stderr, errOther)
	return 2
}
