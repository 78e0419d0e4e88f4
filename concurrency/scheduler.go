package concurrency

import (
	"context"
	"errors"
	"sync"
)

// Defaults of Limits.
const (
	// DefaultPerLane is how many safe calls of one lane run at once: what
	// agent hosts use, so that a model sees the parallelism it knows.
	DefaultPerLane = 10
	// DefaultTotal bounds all lanes together; beyond it more goroutines only
	// take turns on the same disks and cores.
	DefaultTotal = 64
)

// Limits bound how many safe calls run at once. 0 means the default.
type Limits struct {
	PerLane int
	Total   int
}

// Scheduler orders the calls of all lanes. It is safe for concurrent use.
//
// Unsafe calls exclude one another across lanes, first come first served by
// their arrival at the head of their lane. Safe calls wait only within their
// own lane and for a slot; slots go round the lanes that want one.
type Scheduler struct {
	limits Limits

	mu      sync.Mutex
	running int       // safe calls running
	want    []*Lane   // lanes with ready safe calls, next to be served first
	unsafe  *Ticket   // the unsafe call running, nil if none
	heads   []*Ticket // unsafe calls at the head of their lane, in order of coming there
}

// New makes a scheduler.
func New(l Limits) *Scheduler {
	if l.PerLane <= 0 {
		l.PerLane = DefaultPerLane
	}
	if l.Total <= 0 {
		l.Total = max(DefaultTotal, l.PerLane)
	}
	return &Scheduler{limits: l}
}

// Lane holds the calls of one conversation in arrival order.
type Lane struct {
	s       *Scheduler
	tickets []*Ticket // in arrival order, from the earliest not yet left
	next    int       // index in tickets of the first whose turn has not come
	turn    *Ticket   // whose turn it is: deciding, or unsafe and not done; nil: nobody's
	ready   []*Ticket // safe calls that wait for a slot
	active  int       // safe calls settled and not done: ready or running
	running int       // of those, running
	wanted  bool      // the lane is in Scheduler.want
}

// NewLane opens a lane. It needs no closing.
func (s *Scheduler) NewLane() *Lane { return &Lane{s: s} }

type state uint8

const (
	waiting  state = iota // for its turn
	deciding              // its turn has come; safe or not is being settled
	ready                 // safe, waits for a slot
	head                  // unsafe, waits for earlier calls and for other lanes
	running
	done
)

// Ticket is the place of one call in its lane.
type Ticket struct {
	lane   *Lane
	state  state
	safe   bool
	wake   chan struct{} // one token when the state advances to deciding or running
	effect func()
}

// Arrive gives a call its place, behind all that arrived before it. Every
// ticket must be run or left.
func (l *Lane) Arrive() *Ticket {
	t := &Ticket{lane: l, wake: make(chan struct{}, 1)}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.tickets = append(l.tickets, t)
	l.advance()
	return t
}

// ErrLeft is returned by Run for a ticket that was left or has run before.
var ErrLeft = errors.New("the call has left its place")

// Run carries the call through its place and leaves it.
//
// When the call's turn comes, that is when no earlier call of the lane is
// unsafe or undecided, decide settles whether it is safe; its error ends the
// call. Then exec runs when its place allows. It may return an effect, which
// is applied once every earlier call of the lane is done, in arrival order; an
// effect must be quick and must not call the scheduler.
//
// When ctx ends before exec starts, exec never starts and Run returns the
// cause. Run does not interrupt exec. A panic in decide or exec leaves the
// place and goes on.
func (t *Ticket) Run(ctx context.Context, decide func() (safe bool, err error), exec func() (effect func())) error {
	var effect func()
	defer func() { t.leave(effect) }()
	if err := t.await(ctx); err != nil {
		return err
	}
	safe, err := decide()
	if err != nil {
		return err
	}
	t.settle(safe)
	if err := t.await(ctx); err != nil {
		return err
	}
	effect = exec()
	return nil
}

// Leave gives up the place of a call that will not run. It does nothing to a
// call that has left.
func (t *Ticket) Leave() { t.leave(nil) }

// await waits for the next advance of the ticket's state.
func (t *Ticket) await(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-t.wake:
	}
	if ctx.Err() != nil { // asked last, so that a call cancelled while its turn came does not start
		return context.Cause(ctx)
	}
	t.lane.s.mu.Lock()
	defer t.lane.s.mu.Unlock()
	if t.state == done {
		return ErrLeft
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
	if !safe {
		t.state = head
		l.advance()
		return
	}
	t.state = ready
	l.turn = nil
	l.active++
	l.ready = append(l.ready, t)
	l.enlist()
	l.advance()
	s.dispatch()
}

func (t *Ticket) leave(effect func()) {
	l, s := t.lane, t.lane.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.state == done {
		return
	}
	was := t.state
	t.state, t.effect = done, effect
	close(t.wake)
	switch {
	case was == running && t.safe:
		s.running--
		l.running--
		l.active--
	case was == ready:
		l.active--
	}
	if l.turn == t {
		l.turn = nil
	}
	if s.unsafe == t {
		s.unsafe = nil
	}
	l.retire()
	l.enlist()
	l.advance()
	s.dispatch()
}

// retire applies the effects of the earliest calls that are done and forgets them.
func (l *Lane) retire() {
	for len(l.tickets) > 0 && l.tickets[0].state == done {
		if f := l.tickets[0].effect; f != nil {
			f()
		}
		l.tickets[0] = nil
		l.tickets = l.tickets[1:]
		l.next--
	}
	l.next = max(l.next, 0)
}

// advance gives the turn to the next call when nobody has it, and brings the
// unsafe call whose turn it is to the head when all earlier ones are done.
func (l *Lane) advance() {
	for l.turn == nil && l.next < len(l.tickets) {
		t := l.tickets[l.next]
		l.next++
		if t.state == waiting {
			t.state = deciding
			l.turn = t
			t.wake <- struct{}{}
		}
	}
	if t := l.turn; t != nil && t.state == head && l.active == 0 {
		t.state = running
		l.s.heads = append(l.s.heads, t)
		l.s.dispatch()
	}
}

// enlist puts the lane in line for slots when it has a use for one.
func (l *Lane) enlist() {
	if !l.wanted && len(l.ready) > 0 && l.running < l.s.limits.PerLane {
		l.wanted = true
		l.s.want = append(l.s.want, l)
	}
}

// dispatch starts what may start.
func (s *Scheduler) dispatch() {
	for s.unsafe == nil && len(s.heads) > 0 {
		t := s.heads[0]
		s.heads = s.heads[1:]
		if t.state == running { // not left meanwhile
			s.unsafe = t
			t.wake <- struct{}{}
		}
	}
	for s.running < s.limits.Total && len(s.want) > 0 {
		l := s.want[0]
		s.want = s.want[1:]
		l.wanted = false
		for len(l.ready) > 0 {
			t := l.ready[0]
			l.ready = l.ready[1:]
			if t.state != ready { // left meanwhile
				continue
			}
			t.state = running
			l.running++
			s.running++
			t.wake <- struct{}{}
			break
		}
		l.enlist()
	}
}
