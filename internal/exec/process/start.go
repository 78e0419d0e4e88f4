//go:build linux || darwin

package process

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"mcp-toolset/internal/text/plain"
)

// Process is a command that was started.
type Process struct {
	runner *Runner
	sup    *supervisor
	pid    int // of the command, in the supervisor's namespace

	done   chan struct{}
	exit   Exit
	killed atomic.Bool // End has killed the supervisor

	mu         sync.Mutex
	interrupts []chan struct{} // those that the supervisor has not answered, in order

	searching sync.Mutex
	sockets   map[uint64]searched // by inode: see Listening; guarded by searching
}

// Start starts a command. ctx applies to the start only: if it ends earlier, no
// process of the command is left running, and the error is the cause of ctx. Any
// other error gives the reason why the command cannot be started: its program or
// folder does not exist, or confining it failed.
func (r *Runner) Start(ctx context.Context, spec Spec) (_ *Process, err error) {
	defer func() {
		if errors.Is(err, ErrNetworkGone) {
			spec.Input, spec.Errors = nil, nil // for another attempt
		}
		spec.closeFiles()
	}()
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
		s, err := r.acquire(ctx, spec.Network)
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

// run has a supervisor start a command. again reports that the supervisor ended
// before it received the command, so that another one may be tried.
func (r *Runner) run(ctx context.Context, s *supervisor, spec Spec) (p *Process, again bool, err error) {
	o := order{Run: &command{
		Args: spec.Args, Env: spec.Env, Dir: spec.Dir, Confine: spec.Confine, Grace: spec.Grace,
		Input: spec.Input != nil, Errors: spec.Errors != nil, Network: spec.Network != nil,
		Terminal: spec.Terminal,
	}}
	files := spec.files()
	if spec.Network != nil {
		files = append(files, spec.Network.space)
	}
	hangs := fmt.Errorf("containing and starting it takes longer than %v, so its supervisor was killed", r.begin)
	w := s.watch()
	defer w.stop()
	if err := s.send(o, files...); err != nil {
		return nil, s.hasExited() || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET), s.exitError(err)
	}
	for taken := false; ; {
		rep, err := s.next(ctx)
		switch {
		case err != nil && context.Cause(ctx) == hangs:
			s.kill()
			return nil, false, hangs
		case err != nil && ctx.Err() != nil:
			return nil, false, context.Cause(ctx)
		case err != nil:
			err = s.exitError(err)
			return nil, !taken && s.hasExited(), err
		case rep.Taken && !taken:
			taken = true
			w.stoppedOnly() // confining the command may take longer than an answer
			var cancel context.CancelFunc
			ctx, cancel = r.bound(ctx, r.begin, hangs)
			defer cancel()
		case rep.Failed != nil:
			return nil, false, rep.Failed
		case rep.Started != nil && ctx.Err() != nil: // too late
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

// adopt registers a process to be ended by Close. It returns false if the Runner is
// closed.
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

// watch waits for the end of a command and records it.
func (p *Process) watch() {
	rep, err := p.sup.next(context.Background())
	for ; err == nil && rep.Interrupted; rep, err = p.sup.next(context.Background()) {
		p.interrupted(1)
	}
	if err == nil && rep.Exit != nil {
		p.exit = *rep.Exit
		for i, name := range p.exit.Leftover {
			p.exit.Leftover[i] = plain.Line(name)
		}
	} else {
		p.exit = p.endLost(err)
	}
	p.runner.mu.Lock()
	delete(p.runner.running, p)
	p.runner.mu.Unlock()
	close(p.done)
	p.interrupted(math.MaxInt)
	p.sup.finish()
}

// endLost ends the processes of a command that can still be reached after its
// supervisor ended without reporting an exit.
func (p *Process) endLost(err error) Exit {
	e := Exit{Code: -1, Lost: p.sup.exitError(err)}
	if !p.sup.hasExited() { // it does not answer
		p.sup.kill()
		select {
		case <-p.sup.exited:
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

// finish waits for the end of a supervisor that has sent its last report, and kills
// it after slack.
func (s *supervisor) finish() {
	defer s.conn.Close()
	select {
	case <-s.exited:
	case <-time.After(slack):
		s.kill()
	}
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

// End asks the command and all processes it started to end, and kills them after
// grace. A later call with a shorter grace shortens that. End returns when no
// process is left, at once if that is already so. The error means that a process
// hangs in the kernel and is left to it.
//
// A supervisor may not react because it was stopped. End kills it if that ends all
// processes. Otherwise it wakes it, since more processes would be left without it.
func (p *Process) End(grace time.Duration) error {
	if p.isDone() {
		return p.stuck()
	}
	_ = p.sup.send(order{End: &ending{grace}}) // on an error, it is already ending
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
			return errStuck // the supervisor goes on trying
		}
	}
}

// Interrupt sends SIGINT to the command and its process group, as a terminal does. It does not
// wait, and has no effect on a command that has ended. The returned channel is closed when the
// signal is pending or the command has ended. The command receives the signal before it handles
// input that is written later.
func (p *Process) Interrupt() <-chan struct{} {
	sent := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isDone() {
		close(sent)
		return sent
	}
	p.interrupts = append(p.interrupts, sent)
	_ = p.sup.send(order{Interrupt: true}) // on an error, it is already ending
	return sent
}

// interrupted closes the channels of the n earliest interrupts.
func (p *Process) interrupted(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n = min(n, len(p.interrupts))
	for _, sent := range p.interrupts[:n] {
		close(sent)
	}
	p.interrupts = p.interrupts[n:]
}

// kill kills the supervisor, as the only way left to end the command.
func (p *Process) kill() error {
	p.killed.Store(true)
	p.sup.kill()
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
