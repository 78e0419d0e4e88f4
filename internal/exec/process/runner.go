package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// Runner starts commands and ends them. It is safe for concurrent use.
type Runner struct {
	tiers []Tier
	log   *slog.Logger

	probe sync.Mutex // held while the tier is determined

	mu       sync.Mutex
	closed   bool
	closing  chan struct{} // closed when closed is set
	tier     Tier          // None until it is known
	missing  []string      // why better tiers are not available
	ready    []*supervisor
	filling  int // supervisors being started for the reserve
	reserve  reserve
	running  map[*Process]struct{}
	forker   *forker // starts the next process; nil: none yet
	spawners spawners
	alive    sync.WaitGroup // supervisors, and goroutines that start them

	wait  time.Duration         // startWait, except in tests
	hang  time.Duration         // hangWait, except in tests
	begin time.Duration         // slack, except in tests
	start func(*exec.Cmd) error // (*exec.Cmd).Start, except in tests
}

// NewRunner returns a Runner. It starts no process.
func NewRunner(c Config) *Runner {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	tiers := slices.Clone(c.Tiers)
	if len(tiers) == 0 {
		tiers = systemTiers()
	}
	slices.Sort(tiers)
	slices.Reverse(tiers)
	return &Runner{
		reserve: newReserve(c), tiers: tiers, log: c.Log, running: map[*Process]struct{}{}, closing: make(chan struct{}), spawners: newSpawners(),
		wait: startWait, hang: hangWait, begin: slack, start: (*exec.Cmd).Start,
	}
}

// Tier returns the tier in use, or an error if no tier works. The first call
// determines it by starting a supervisor, which the first Start may use.
func (r *Runner) Tier(ctx context.Context) (Tier, error) {
	if t := r.known(); t != None {
		return t, nil
	}
	if err := r.enter(); err != nil {
		return None, err
	}
	defer r.alive.Done()
	s, err := r.fresh(ctx)
	if err != nil {
		return None, err
	}
	r.putBack(s)
	return r.known(), nil
}

// Missing returns, once the tier is known, the reasons why better tiers are not in
// use.
func (r *Runner) Missing() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.missing)
}

func (r *Runner) known() Tier {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tier
}

// enter registers an operation that Close must wait for. It fails after Close.
func (r *Runner) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	r.alive.Add(1)
	return nil
}

// Close ends all commands and the supervisors in reserve, and returns when all are
// gone. Commands are asked to end, and killed after grace. Start fails from then
// on.
func (r *Runner) Close(grace time.Duration) error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.closing)
	}
	ready := r.ready
	r.ready = nil
	r.reserve.stop()
	var running []*Process
	for p := range r.running {
		running = append(running, p)
	}
	r.mu.Unlock()
	for _, s := range ready {
		s.discard()
	}
	errs := make([]error, len(running))
	var wg sync.WaitGroup
	for i, p := range running {
		wg.Go(func() { errs[i] = p.End(grace) })
	}
	wg.Wait()
	gone := make(chan struct{})
	go func() {
		r.alive.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(2 * (killWait + slack)):
		return errors.Join(append(errs, errors.New("some supervisors of commands do not end"))...)
	}
	errs = append(errs, r.closeSpawners())
	r.mu.Lock()
	f := r.forker
	r.mu.Unlock()
	r.replace(f)
	return errors.Join(errs...)
}

// acquire returns a ready supervisor for a command in a network, from the reserve if
// possible.
func (r *Runner) acquire(ctx context.Context, n *Network) (*supervisor, error) {
	r.count()
	for {
		r.mu.Lock()
		i := slices.IndexFunc(r.ready, func(s *supervisor) bool { return s.hosts(n) })
		if r.closed || i < 0 {
			r.mu.Unlock()
			s, err := r.fresh(ctx)
			if err == nil && !s.hosts(n) {
				r.putBack(s)
				return nil, ErrNetworkGone
			}
			return s, err
		}
		s := r.ready[i]
		r.ready = slices.Concat(r.ready[:i], r.ready[i+1:])
		r.mu.Unlock()
		select {
		case <-s.exited: // it was killed
		default:
			return s, nil
		}
	}
}

// putBack adds a supervisor to the reserve, or ends it if there is no room.
func (r *Runner) putBack(s *supervisor) {
	r.mu.Lock()
	if !r.closed && len(r.ready) < r.reserve.target {
		r.ready = append(r.ready, s)
		s = nil
	}
	r.mu.Unlock()
	if s != nil {
		s.discard()
	}
}

// refill starts supervisors in the background until the reserve is full.
func (r *Runner) refill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.ready = slices.DeleteFunc(r.ready, (*supervisor).hasExited)
	for ; len(r.ready)+r.filling < r.reserve.target; r.filling++ {
		r.alive.Add(1)
		go func() {
			defer r.alive.Done()
			s, err := r.fresh(context.Background())
			r.mu.Lock()
			r.filling--
			r.mu.Unlock()
			if err != nil {
				r.log.Debug("no supervisor in reserve", "error", err)
				return
			}
			r.putBack(s)
		}()
	}
}

// bound returns a context that ends with ctx, with the Runner, or after limit. The
// cause after limit is late.
func (r *Runner) bound(ctx context.Context, limit time.Duration, late error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	ctx, stop := context.WithTimeoutCause(ctx, limit, late)
	go func() {
		select {
		case <-r.closing:
			cancel(ErrClosed)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { stop(); cancel(nil) }
}

// boundStart returns a context for the start of a supervisor.
func (r *Runner) boundStart(ctx context.Context) (context.Context, context.CancelFunc) {
	return r.bound(ctx, r.wait, notReady(r.wait))
}

// notReady is the cause of the end of a start that took too long.
type notReady time.Duration

func (n notReady) Error() string {
	return fmt.Sprintf("the supervisor of a command was not ready within %v", time.Duration(n))
}

// fresh starts a supervisor and waits until it is ready, for r.wait at most. The
// first call determines the tier.
func (r *Runner) fresh(ctx context.Context) (*supervisor, error) {
	ctx, cancel := r.boundStart(ctx)
	defer cancel()
	if t := r.known(); t != None {
		return r.spawn(ctx, t)
	}
	r.probe.Lock()
	defer r.probe.Unlock()
	if t := r.known(); t != None {
		return r.spawn(ctx, t)
	}
	var missing []string
	for _, t := range r.tiers {
		s, err := r.spawn(ctx, t)
		if f := (*failure)(nil); errors.As(err, &f) && f.Refused {
			missing = append(missing, fmt.Sprintf("%s: %s", t, f.Text))
			continue
		}
		if err != nil {
			return nil, err
		}
		r.mu.Lock()
		r.tier, r.missing = t, missing
		r.mu.Unlock()
		if t != PIDNamespace {
			r.retire(nil)
		}
		r.log.Debug("commands are ended by "+t.String(), "missing", missing)
		return s, nil
	}
	return nil, fmt.Errorf("commands cannot be run here: %s", strings.Join(missing, "; "))
}
