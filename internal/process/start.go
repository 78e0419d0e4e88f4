//go:build linux || darwin

package process

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"mcp-toolset/internal/plain"
)

// Process is a command that was started.
type Process struct {
	runner *Runner
	sup    *supervisor
	pid    int // of the command, as the supervisor sees it

	done   chan struct{}
	exit   Exit
	killed atomic.Bool // End has killed the supervisor
}

// Start starts a command. The context is for starting only: when it ends
// earlier, nothing of the command is left running and its cause is the error.
// An error without a cause in ctx says why the command cannot be started: its
// program or folder is gone, or the containment failed.
func (r *Runner) Start(ctx context.Context, spec Spec) (*Process, error) {
	defer spec.closeFiles()
	if spec.Output == nil {
		return nil, errors.New("starting a command: there is no output")
	}
	if err := spec.check(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.alive.Done()
	defer r.refill()
	for {
		s, err := r.take(ctx)
		if err != nil {
			return nil, err
		}
		p, again, err := r.run(ctx, s, spec)
		if err == nil {
			return p, nil
		}
		s.abandon()
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !again:
			return nil, err
		}
		r.log.Debug("a supervisor in reserve was gone", "error", err)
	}
}

// run has a supervisor start a command. again says that the supervisor was
// gone before it knew the command, so that another one may be asked.
func (r *Runner) run(ctx context.Context, s *supervisor, spec Spec) (p *Process, again bool, err error) {
	o := order{Run: &command{
		Args: spec.Args, Env: spec.Env, Dir: spec.Dir, Confine: spec.Confine, Grace: spec.Grace,
		Input: spec.Input != nil, Errors: spec.Errors != nil,
	}}
	hangs := fmt.Errorf("containing and starting it takes longer than %v, so its supervisor was killed", r.begin)
	w := s.watch()
	defer w.stop()
	if err := s.send(o, spec.files()...); err != nil {
		return nil, s.isGone() || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET), s.lost(err)
	}
	for taken := false; ; {
		rep, err := s.next(ctx)
		switch {
		case err != nil && context.Cause(ctx) == hangs:
			_ = s.cmd.Process.Kill()
			return nil, false, hangs
		case err != nil && ctx.Err() != nil:
			return nil, false, context.Cause(ctx)
		case err != nil:
			err = s.lost(err)
			return nil, !taken && s.isGone(), err
		case rep.Taken && !taken:
			taken = true
			w.stoppedOnly() // the containment may take longer than an answer
			var cancel context.CancelFunc
			ctx, cancel = r.bound(ctx, r.begin, hangs)
			defer cancel()
		case rep.Failed != nil:
			return nil, false, rep.Failed
		case rep.Started != nil && ctx.Err() != nil: // it comes too late
			return nil, false, context.Cause(ctx)
		case rep.Started != nil:
			p := &Process{runner: r, sup: s, pid: rep.Started.PID, done: make(chan struct{})}
			if !r.adopt(p) {
				return nil, false, ErrClosed
			}
			return p, false, nil
		}
	}
}

// adopt counts a process among those that Close ends.
func (r *Runner) adopt(p *Process) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.running[p] = struct{}{}
	r.alive.Add(1)
	go func() {
		defer r.alive.Done()
		p.watch()
	}()
	return true
}

// watch waits for the end of a command.
func (p *Process) watch() {
	rep, err := p.sup.next(context.Background())
	if err == nil && rep.Exit != nil {
		p.exit = *rep.Exit
		for i, name := range p.exit.Leftover {
			p.exit.Leftover[i] = plain.Line(name)
		}
	} else {
		p.exit = p.lost(err)
	}
	p.runner.mu.Lock()
	delete(p.runner.running, p)
	p.runner.mu.Unlock()
	close(p.done)
	p.sup.finish()
}

// lost ends what can be reached of a command whose supervisor has gone without
// a word on its end.
func (p *Process) lost(err error) Exit {
	e := Exit{Code: -1, Lost: p.sup.lost(err)}
	if !p.sup.isGone() { // it does not answer
		_ = p.sup.cmd.Process.Kill()
		select {
		case <-p.sup.gone:
		case <-time.After(killWait):
			e.Stuck = true
		}
	}
	if p.killed.Load() && !e.Stuck {
		e.Signal, e.Ended, e.Lost = syscall.SIGKILL, true, nil
	}
	if p.sup.tier != PIDNamespace {
		killGroup(p.pid)
	}
	return e
}

// finish lets a supervisor that has said its last word end, and sees to it that
// it does.
func (s *supervisor) finish() {
	defer s.conn.Close()
	select {
	case <-s.gone:
	case <-time.After(slack):
		_ = s.cmd.Process.Kill()
	}
}

// Done is closed when the command and all it started have ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits until the command and all it started have ended, and says how.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}

// End ends the command and all it started: they are told to end, and killed
// after grace; a later call with less grace shortens that. It returns when
// nothing is left, at once if that is so already. The error says that something
// hangs in the kernel and is left to it.
//
// A supervisor that does not do it, since somebody has stopped it, is killed
// where that ends all, and woken where without it more would be left.
func (p *Process) End(grace time.Duration) error {
	if p.isDone() {
		return p.stuck()
	}
	_ = p.sup.send(order{End: &ending{grace}}) // an error: it is ending
	late := time.NewTimer(grace + answerWait)
	defer late.Stop()
	last := time.After(grace + 2*(killWait+slack))
	for deadline, woken := time.Now().Add(grace+slack), false; ; {
		select {
		case <-p.done:
			return p.stuck()
		case <-late.C:
			late.Reset(answerWait)
			stopped := p.sup.isStopped()
			switch {
			case p.sup.tier == PIDNamespace && (stopped || time.Now().After(deadline)), p.sup.tier == Cgroup && stopped && woken:
				return p.kill()
			case stopped:
				p.sup.wake()
				woken = true
			}
		case <-last:
			return errStuck // the supervisor goes on
		}
	}
}

// kill kills the supervisor for want of a better way to end the command.
func (p *Process) kill() error {
	p.killed.Store(true)
	_ = p.sup.cmd.Process.Kill()
	select {
	case <-p.done:
		return p.stuck()
	case <-time.After(killWait):
		return errStuck
	}
}

func (p *Process) isDone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *Process) stuck() error {
	if p.exit.Stuck {
		return errStuck
	}
	return nil
}
