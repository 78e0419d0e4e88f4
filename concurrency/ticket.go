package concurrency

import (
	"context"
	"errors"
	"slices"
	"time"
)

type state uint8

const (
	waiting  state = iota // waits for its turn
	deciding              // has the turn; whether it is safe is being decided
	ready                 // safe, waits for a slot
	settled               // unsafe, waits for earlier calls of its lane
	head                  // unsafe, waits for calls of other lanes
	running
	done
)

// Ticket is the place of one call in its lane.
type Ticket struct {
	lane   *Lane
	number uint64
	state  state
	since  time.Time // when it entered the state
	safe   bool
	slots  int           // number of slots it holds: 1 or 0
	wake   chan struct{} // gets one token when the state advances to deciding or running
	effect func()

	predecessor *Ticket   // the call it waits for at the head; see unsafe.go
	followers   []*Ticket // the calls that wait for it

	kind, title  string
	outcome      string
	ctx          context.Context         // the context of Run; nil before Run
	cancel       context.CancelCauseFunc // cancels ctx
	burstCancels []burstCancel           // bursts cancelled before Run
	begun        bool                    // whether deciding has begun
	ran          bool
	reported     bool // whether the arrival was reported, or is being reported
	shared       bool // whether it shared the result of another call
	wasCancelled bool // whether it was cancelled before it left
	times        Times
}

// ErrLeft is returned by Run for a ticket that has left its place or has run
// before.
var ErrLeft = errors.New("the call has left its place")

// Label sets the kind and title of the call. CancelBurst selects calls by kind,
// so the kind must be set before Run and not change. The title is one line for
// users.
func (t *Ticket) Label(kind, title string) {
	t.lane.s.lock()
	defer t.lane.s.mu.Unlock()
	t.kind, t.title = kind, title
}

// Outcome sets a word for the end of the call, for Record.Outcome.
func (t *Ticket) Outcome(word string) {
	t.lane.s.lock()
	defer t.lane.s.mu.Unlock()
	t.outcome = word
}

// Run takes the call through its place, and then leaves it.
//
// The call's turn comes when no earlier call of the lane is unsafe or
// undecided. Then decide returns whether the call is safe; its error ends the
// call. exec runs when the place allows it. The effect it returns is applied in
// order of arrival, once every earlier call of the lane is done. An effect must
// be quick and must not call the scheduler.
//
// decide and exec get a context that ends with ctx, or when CancelBurst selects
// the call. If it ends before exec starts, exec never starts and Run returns
// the cause. Run does not interrupt exec. If decide or exec panics, Run leaves
// the place and passes the panic on.
func (t *Ticket) Run(ctx context.Context, decide func(context.Context) (safe bool, err error), exec func(context.Context) (effect func())) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if t.arm(ctx, cancel) {
		t.notify(StageArrived)
	}
	var effect func()
	defer func() { t.leave(effect, false) }()
	if err := t.await(ctx); err != nil {
		return err
	}
	t.notify(StageTurn)
	safe, err := decide(ctx)
	if err != nil {
		return err
	}
	if !t.settle(safe) {
		return context.Cause(ctx)
	}
	t.notify(StageSettled)
	if err := t.await(ctx); err != nil {
		return err
	}
	t.notify(StageStarted)
	effect = exec(ctx)
	return nil
}

// Leave gives up the place of a call that will not run. It does nothing if Run
// was called, because Run leaves the place itself, or if the call has left.
func (t *Ticket) Leave() { t.leave(nil, true) }

// await waits until the ticket's state advances or ctx ends.
func (t *Ticket) await(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-t.wake:
	}
	t.lane.s.lock()
	defer t.lane.s.mu.Unlock()
	switch {
	case ctx.Err() != nil: // checked after the wait, so that a call cancelled as its turn came does not start
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

// settle records whether the call is safe and queues it accordingly. It returns
// false if the call was cancelled meanwhile.
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

// start lets a waiting call run.
func (t *Ticket) start() {
	t.to(running)
	t.wake <- struct{}{}
}

// cancelled reports whether the context of Run has ended, so that a waiting
// call will leave without running.
func (t *Ticket) cancelled() bool { return t.ctx.Err() != nil }

// slot takes (1) or gives back (-1) a slot.
func (t *Ticket) slot(n int) {
	t.slots += n
	t.lane.running += n
	t.lane.s.running += n
}

// Yield gives back the slot of a running safe call that only waits, for the
// result of another call or for an answer. The call retains its place.
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

// Depart gives up the slot and the place of a running safe call that only waits from now
// on. Later calls of the lane no longer wait for it. Its effect is applied at its end.
func (t *Ticket) Depart() {
	t.lane.s.lock()
	can := t.state == running && t.safe
	t.lane.s.mu.Unlock()
	if can {
		t.leave(nil, false)
	}
}

// Resume waits for a slot for a call that has yielded. If ctx ends first, it
// returns the cause.
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

// queue lets a safe call wait for a slot. It returns the present time.
func (t *Ticket) queue() time.Time {
	now := t.to(ready)
	t.lane.ready = append(t.lane.ready, t)
	t.lane.enlist()
	t.lane.s.dispatch()
	return now
}

// pass gives the slot of a call that is about to leave to a call that has
// yielded and for which the work continues. The other call's lane may then
// exceed its limit.
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

// leave gives up the place if the call has not left yet, and reports that to
// the observer. If idle is set, it does nothing after Run was called.
func (t *Ticket) leave(effect func(), idle bool) {
	told, left := t.vacate(effect, idle)
	if left && !told {
		t.notify(StageArrived)
	}
	if left {
		t.notify(StageLeft)
	}
}

// vacate is leave without reports to the observer. told is whether the arrival
// was reported before. If an effect panics, the lock is released.
func (t *Ticket) vacate(effect func(), idle bool) (told, left bool) {
	l, s := t.lane, t.lane.s
	s.lock()
	defer s.mu.Unlock()
	if t.state == done || idle && t.ctx != nil {
		if effect != nil { // the call has departed
			effect()
		}
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
	return t.reported, true
}

// count counts a call that leaves.
func (t *Ticket) count(was state) {
	stats := &t.lane.s.stats
	if t.ran {
		stats.Ran++
	}
	t.wasCancelled = t.ctx != nil && t.ctx.Err() != nil
	switch {
	case !t.wasCancelled:
	case t.ran:
		stats.Cancelled.Running++
	case was == deciding && t.begun:
		stats.Cancelled.Deciding++
	default:
		stats.Cancelled.Waiting++
	}
}

// without removes the first element equal to e from list, in place.
func without[E comparable](list []E, e E) []E {
	if i := slices.Index(list, e); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}
