package concurrency

import (
	"context"
	"runtime/debug"
	"sync"
)

// Group deduplicates identical calls: they share one execution while it runs.
type Group struct {
	s *Scheduler

	mu      sync.Mutex
	flights map[string]*flight
	outside int // number of running processes that may change files and are not calls
}

// NewGroup returns a group for the calls of a scheduler.
func NewGroup(s *Scheduler) *Group { return &Group{s: s, flights: map[string]*flight{}} }

// flight is one execution.
type flight struct {
	generation uint64
	cancel     context.CancelCauseFunc
	done       chan struct{}
	waiting    []*Ticket // calls that wait for its result; one of them holds the slot it uses

	value    any
	err      error
	panicked *Panic
}

// Panic is the value that Do panics with if f panicked, possibly for another
// call.
type Panic struct {
	Value any
	Stack []byte
}

// Do returns the result of f. Calls with the same key that arrive while f runs
// share its result and give back their slots meanwhile. They run f themselves
// if an unsafe call has begun or ended since f started, or if Outside is in
// effect, because what f saw may have changed.
//
// f gets a context that ends when no call waits for its result any more. If ctx
// ends, Do returns its cause, after f has ended if no other call waits for f.
// shared reports whether f ran for another call; such a value must not be
// modified. t must be running and safe.
func (g *Group) Do(ctx context.Context, t *Ticket, key string, f func(context.Context) (any, error)) (value any, shared bool, err error) {
	g.mu.Lock()
	fl := g.flights[key]
	if fl != nil && g.outside == 0 && fl.generation == g.s.current() {
		fl.waiting = append(fl.waiting, t)
		t.Yield() // before another call can pass it a slot
		g.mu.Unlock()
		g.s.count(t)
		value, err = g.wait(ctx, t, key, fl)
		return value, true, err
	}
	fctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	fl = &flight{generation: g.s.current(), cancel: cancel, done: make(chan struct{}), waiting: []*Ticket{t}}
	g.flights[key] = fl
	g.mu.Unlock()
	go func() {
		defer cancel(nil)
		defer g.endFlight(key, fl)
		defer func() {
			if v := recover(); v != nil {
				fl.panicked = &Panic{v, debug.Stack()}
			}
		}()
		fl.value, fl.err = f(fctx)
	}()
	value, err = g.wait(ctx, t, key, fl)
	return value, false, err
}

// Outside reports that something other than a call may change what calls see,
// until done is called. An example is a process that an unsafe call has left
// running.
func (g *Group) Outside() (done func()) {
	change := func(n int) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.outside += n
		g.s.lock()
		defer g.s.mu.Unlock()
		g.s.generation++
	}
	change(1)
	return sync.OnceFunc(func() { change(-1) })
}

// endFlight ends a flight.
func (g *Group) endFlight(key string, fl *flight) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flights[key] == fl {
		delete(g.flights, key)
	}
	close(fl.done)
}

// wait waits for the result of a flight.
func (g *Group) wait(ctx context.Context, t *Ticket, key string, fl *flight) (any, error) {
	select {
	case <-fl.done:
		if fl.panicked != nil {
			panic(fl.panicked)
		}
		return fl.value, fl.err
	case <-ctx.Done():
	}
	g.mu.Lock()
	for i, o := range fl.waiting {
		if o == t {
			fl.waiting = append(fl.waiting[:i:i], fl.waiting[i+1:]...)
			break
		}
	}
	left := len(fl.waiting)
	if left == 0 && g.flights[key] == fl {
		delete(g.flights, key) // no call may join a flight that is being cancelled
	}
	if left > 0 {
		t.pass(fl.waiting[0])
	}
	g.mu.Unlock()
	if left == 0 {
		fl.cancel(context.Cause(ctx))
		<-fl.done // work begun for this call must end before its place is free
		if fl.err == nil && fl.panicked == nil {
			return fl.value, nil
		}
	}
	return nil, context.Cause(ctx)
}

// current returns the generation, which changes whenever what safe calls see
// may change.
func (s *Scheduler) current() uint64 {
	s.lock()
	defer s.mu.Unlock()
	return s.generation
}

// count counts a call that shares the result of another.
func (s *Scheduler) count(t *Ticket) {
	s.lock()
	defer s.mu.Unlock()
	t.shared = true
	s.stats.Shared++
}
