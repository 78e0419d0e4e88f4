package concurrency

import (
	"context"
	"errors"
	"slices"
	"time"
)

type state uint8

const (
	waiting  state = iota // for its turn
	deciding              // its turn has come; safe or not is being settled
	ready                 // safe, waits for a slot
	settled               // unsafe, waits for earlier calls of its lane
	head                  // unsafe, waits for those of other lanes
	running
	done
)

// Ticket is the place of one call in its lane.
type Ticket struct {
	lane   *Lane
	number uint64
	state  state
	since  time.Time // it is in this state
	safe   bool
	slots  int           // it holds: 1 or 0
	wake   chan struct{} // one token when the state advances to deciding or running
	effect func()

	behind    *Ticket   // which it waits for at the head; see unsafe.go
	followers []*Ticket // which wait for it

	kind, title string
	ctx         context.Context         // of Run; nil before it
	cancel      context.CancelCauseFunc // its
	doom        []doom                  // bursts cancelled before Run
	begun       bool                    // it is being, or was, decided on
	ran         bool
	told        bool // its arrival was, or is about to be
	shared      bool // it had the result of another call
	gaveUp      bool // it was cancelled before it left
	times       Times
}

// ErrLeft is returned by Run for a ticket that was left or has run before.
var ErrLeft = errors.New("the call has left its place")

// Label says what the call is: a kind, by which CancelBurst chooses and which
// must be told before Run and stays, and one line for people.
func (t *Ticket) Label(kind, title string) {
	t.lane.s.lock()
	defer t.lane.s.mu.Unlock()
	t.kind, t.title = kind, title
}

// Run carries the call through its place and leaves it.
//
// When the call's turn comes, that is when no earlier call of the lane is
// unsafe or undecided, decide settles whether it is safe; its error ends the
// call. Then exec runs when its place allows. It may return an effect, which
// is applied once every earlier call of the lane is done, in arrival order; an
// effect must be quick and must not call the scheduler.
//
// The context that decide and exec get ends with ctx, and when CancelBurst
// chooses the call. When it ends before exec starts, exec never starts and Run
// returns the cause. Run does not interrupt exec. A panic in decide or exec
// leaves the place and goes on.
func (t *Ticket) Run(ctx context.Context, decide func(context.Context) (safe bool, err error), exec func(context.Context) (effect func())) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if t.arm(ctx, cancel) {
		t.tell(StageArrived)
	}
	var effect func()
	defer func() { t.leave(effect, false) }()
	if err := t.await(ctx); err != nil {
		return err
	}
	t.tell(StageTurn)
	safe, err := decide(ctx)
	if err != nil {
		return err
	}
	if !t.settle(safe) {
		return context.Cause(ctx)
	}
	t.tell(StageSettled)
	if err := t.await(ctx); err != nil {
		return err
	}
	t.tell(StageStarted)
	effect = exec(ctx)
	return nil
}

// Leave gives up the place of a call that will not run. It does nothing to a
// call that runs, whose place ends with Run, or that has left.
func (t *Ticket) Leave() { t.leave(nil, true) }

// await waits for the next advance of the ticket's state.
func (t *Ticket) await(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-t.wake:
	}
	t.lane.s.lock()
	defer t.lane.s.mu.Unlock()
	switch {
	case ctx.Err() != nil: // asked last, so that a call cancelled while its turn came does not start
		return context.Cause(ctx)
	case t.state == done:
		return ErrLeft
	case t.state == deciding:
		t.begun, t.times.Turn = true, t.since
	case t.state == running && !t.ran:
		t.ran, t.times.Started = true, t.lane.s.now()
	}
	return nil
}

// settle gives a call that was decided on its place. It does not if that was
// cancelled meanwhile.
func (t *Ticket) settle(safe bool) bool {
	l, s := t.lane, t.lane.s
	s.lock()
	defer s.mu.Unlock()
	if t.cancelled() {
		return false
	}
	t.safe = safe
	if !safe {
		s.stats.batch(l.batch)
		l.batch = 0
		s.stats.batch(1)
		t.times.Settled = t.to(settled)
		l.advance()
		return true
	}
	l.turn = nil
	l.batch++
	l.active++
	t.times.Settled = t.queue()
	l.advance()
	return true
}

// start lets a call run whose turn has come.
func (t *Ticket) start() {
	t.to(running)
	t.wake <- struct{}{}
}

// cancelled reports whether the call is about to leave without having run.
func (t *Ticket) cancelled() bool { return t.ctx.Err() != nil }

// slot takes or gives back a slot.
func (t *Ticket) slot(n int) {
	t.slots += n
	t.lane.running += n
	t.lane.s.running += n
}

// Yield gives back the slot of a running safe call that only waits for the
// result of another. It keeps its place.
func (t *Ticket) Yield() {
	s := t.lane.s
	s.lock()
	defer s.mu.Unlock()
	if t.slots > 0 {
		t.slot(-1)
		t.lane.enlist()
		s.dispatch()
	}
}

// Resume waits for a slot for a call that has yielded. It fails with the cause
// when ctx ends first.
func (t *Ticket) Resume(ctx context.Context) error {
	s := t.lane.s
	s.lock()
	if t.state != running || !t.safe || t.slots > 0 {
		s.mu.Unlock()
		return nil
	}
	t.queue()
	s.mu.Unlock()
	return t.await(ctx)
}

// queue lets a safe call wait for a slot. It returns the time.
func (t *Ticket) queue() time.Time {
	now := t.to(ready)
	t.lane.ready = append(t.lane.ready, t)
	t.lane.enlist()
	t.lane.s.dispatch()
	return now
}

// pass hands the slot of a call that is about to leave, if it has one, to one
// that has yielded: the work goes on for that. Its lane may then hold more than
// its share.
func (t *Ticket) pass(to *Ticket) {
	t.lane.s.lock()
	defer t.lane.s.mu.Unlock()
	if t.slots > 0 && to.state == running {
		t.slot(-1)
		to.slot(1)
		t.lane.enlist()
		t.lane.s.dispatch()
	}
}

// leave gives up the place, if the call has one still; idle: unless it runs.
func (t *Ticket) leave(effect func(), idle bool) {
	told, left := t.vacate(effect, idle)
	if left && !told {
		t.tell(StageArrived)
	}
	if left {
		t.tell(StageLeft)
	}
}

// vacate is leave without telling anybody; told is whether the arrival was. An
// effect that panics leaves nothing locked.
func (t *Ticket) vacate(effect func(), idle bool) (told, left bool) {
	l, s := t.lane, t.lane.s
	s.lock()
	defer s.mu.Unlock()
	if t.state == done || idle && t.ctx != nil {
		return false, false
	}
	was := t.state
	t.times.Left, t.effect = t.to(done), effect
	close(t.wake)
	if t.safe && (was == ready || was == running) {
		l.active--
	}
	if was == ready {
		l.prune()
	}
	if t.slots > 0 {
		t.slot(-1)
	}
	if l.turn == t {
		l.turn = nil
	}
	if was == running && !t.safe {
		s.generation++
	}
	if was == head || was == running && !t.safe {
		s.release(t)
	}
	s.calls--
	if l.calls--; l.calls == 0 {
		delete(s.lanes, l)
		s.stats.batch(l.batch)
		l.batch = 0
	}
	t.count(was)
	l.retire(t)
	l.enlist()
	l.advance()
	s.dispatch()
	return t.told, true
}

// count counts a call that leaves.
func (t *Ticket) count(was state) {
	stats := &t.lane.s.stats
	if t.ran {
		stats.Ran++
	}
	t.gaveUp = t.ctx != nil && t.ctx.Err() != nil
	switch {
	case !t.gaveUp:
	case t.ran:
		stats.Cancelled.Running++
	case was == deciding && t.begun:
		stats.Cancelled.Deciding++
	default:
		stats.Cancelled.Waiting++
	}
}

// without is a list with one element taken out.
func without[E comparable](list []E, e E) []E {
	if i := slices.Index(list, e); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}
