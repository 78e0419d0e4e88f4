package concurrency

import (
	"context"
	"errors"
	"slices"
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
	safe   bool
	slots  int           // it holds: 1 or 0
	wake   chan struct{} // one token when the state advances to deciding or running
	effect func()

	kind, title string
	ctx         context.Context         // of Run; nil before it
	cancel      context.CancelCauseFunc // its
	doom        []doom                  // bursts cancelled before Run
	ran         bool
	shared      bool // it had the result of another call
	times       Times
}

// ErrLeft is returned by Run for a ticket that was left or has run before.
var ErrLeft = errors.New("the call has left its place")

// Label says what the call is: a kind, by which CancelBurst chooses and which
// must be told before Run, and one line for people.
func (t *Ticket) Label(kind, title string) {
	t.lane.s.mu.Lock()
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
	t.arm(ctx, cancel)
	var effect func()
	defer func() { t.leave(effect) }()
	if err := t.await(ctx); err != nil {
		return err
	}
	safe, err := decide(ctx)
	if err != nil {
		return err
	}
	t.settle(safe)
	if err := t.await(ctx); err != nil {
		return err
	}
	effect = exec(ctx)
	return nil
}

// Leave gives up the place of a call that will not run. It does nothing to a
// call that runs, whose place ends with Run, or that has left.
func (t *Ticket) Leave() {
	t.lane.s.mu.Lock()
	runs := t.ctx != nil
	t.lane.s.mu.Unlock()
	if !runs {
		t.leave(nil)
	}
}

// await waits for the next advance of the ticket's state.
func (t *Ticket) await(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-t.wake:
	}
	t.lane.s.mu.Lock()
	defer t.lane.s.mu.Unlock()
	switch {
	case ctx.Err() != nil: // asked last, so that a call cancelled while its turn came does not start
		if t.state != done && !t.ran {
			t.lane.s.stats.Cancelled++
		}
		return context.Cause(ctx)
	case t.state == done:
		return ErrLeft
	case t.state == running && !t.ran:
		t.ran, t.times.Started = true, t.lane.s.now()
	}
	return nil
}

func (t *Ticket) settle(safe bool) {
	l, s := t.lane, t.lane.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.state == done {
		return
	}
	t.safe = safe
	t.times.Settled = s.now()
	if !safe {
		s.stats.batch(l.batch)
		l.batch = 0
		s.stats.batch(1)
		t.state = settled
		l.advance()
		return
	}
	l.turn = nil
	l.batch++
	l.active++
	t.queue()
	l.advance()
}

// start lets a call run whose turn has come.
func (t *Ticket) start() {
	t.state = running
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
	s.mu.Lock()
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
	s.mu.Lock()
	if t.state != running || !t.safe || t.slots > 0 {
		s.mu.Unlock()
		return nil
	}
	t.queue()
	s.mu.Unlock()
	return t.await(ctx)
}

// queue lets a safe call wait for a slot.
func (t *Ticket) queue() {
	t.state = ready
	t.lane.ready = append(t.lane.ready, t)
	t.lane.enlist()
	t.lane.s.dispatch()
}

// pass hands the slot of a call that is about to leave, if it has one, to one
// that has yielded: the work goes on for that. Its lane may then hold more than
// its share.
func (t *Ticket) pass(to *Ticket) {
	t.lane.s.mu.Lock()
	defer t.lane.s.mu.Unlock()
	if t.slots > 0 && to.state == running {
		t.slot(-1)
		to.slot(1)
		t.lane.enlist()
		t.lane.s.dispatch()
	}
}

func (t *Ticket) leave(effect func()) {
	if record, left := t.vacate(effect); left && t.lane.s.config.Observe != nil {
		t.lane.s.config.Observe(record)
	}
}

// vacate is leave without telling anybody. An effect that panics leaves nothing
// locked.
func (t *Ticket) vacate(effect func()) (record Record, left bool) {
	l, s := t.lane, t.lane.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.state == done {
		return Record{}, false
	}
	was := t.state
	t.state, t.effect = done, effect
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
		s.unsafe = without(s.unsafe, t)
		s.generation++
	}
	s.calls--
	if l.calls--; l.calls == 0 {
		delete(s.lanes, l)
		s.stats.batch(l.batch)
		l.batch = 0
	}
	t.times.Left = s.now()
	if t.ran {
		s.stats.Ran++
	}
	record = t.record()
	l.retire(t)
	l.enlist()
	l.advance()
	s.dispatch()
	return record, true
}

// without is a list with one element taken out.
func without[E comparable](list []E, e E) []E {
	if i := slices.Index(list, e); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}
