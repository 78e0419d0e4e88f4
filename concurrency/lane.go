package concurrency

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
)

// Lane holds the calls of one client in order of arrival.
type Lane struct {
	s       *Scheduler
	name    string
	number  uint64
	roots   atomic.Pointer[[]string]
	tickets []*Ticket // in order of arrival, from the earliest that has not left
	next    int       // index in tickets of the first whose turn has not come
	turn    *Ticket   // the call that has the turn: deciding, or unsafe and not done; nil: none
	ready   []*Ticket // safe calls that wait for a slot
	active  int       // safe calls settled and not done: ready, running or waiting for another's result
	running int       // number of active calls that hold a slot
	calls   int       // calls that have arrived and not left
	batch   int       // safe calls settled since the last unsafe one
	queued  bool      // whether the lane is in Scheduler.readyLanes
}

// NewLane opens a lane. Its calls may change only files below roots, which are
// absolute clean paths; without roots, they may change any file. A lane needs
// no closing. The name is shown to users.
func (s *Scheduler) NewLane(name string, roots ...string) *Lane {
	s.lock()
	defer s.mu.Unlock()
	s.opened++
	l := &Lane{s: s, name: name, number: s.opened}
	l.roots.Store(&roots)
	return l
}

// Move changes the roots of a lane. An effect of a call may call it: the later calls of the lane
// then change files only below the new roots.
func (l *Lane) Move(roots ...string) { l.roots.Store(&roots) }

// below returns the roots of the lane.
func (l *Lane) below() []string { return *l.roots.Load() }

// Sibling opens a lane of the same name and roots. Its calls do not wait for those of l, except for
// calls that change the same files.
func (l *Lane) Sibling() *Lane { return l.s.NewLane(l.name, l.below()...) }

// ErrFull is returned by Arrive if too many calls wait. The client may send the
// call again later.
var ErrFull = errors.New("too many calls are waiting")

// unapplied limits the calls of a lane whose effects wait for those of an
// earlier call, as a multiple of Config.Queue.
const unapplied = 10

// Arrive gives a call its place, after all that arrived before it. The caller
// must call Run or Leave on the ticket.
func (l *Lane) Arrive() (*Ticket, error) {
	t := &Ticket{lane: l, wake: make(chan struct{}, 1)}
	if err := l.place(t); err != nil {
		t.notify(StageFull)
		return nil, err
	}
	return t, nil
}

func (l *Lane) place(t *Ticket) error {
	s := l.s
	s.lock()
	defer s.mu.Unlock()
	t.times.Arrived = t.to(waiting)
	if l.calls >= s.config.Queue || len(l.tickets) >= unapplied*s.config.Queue || s.calls >= s.config.QueueTotal {
		s.stats.Full++
		return ErrFull
	}
	s.stats.Arrived++
	s.calls++
	if l.calls++; l.calls == 1 {
		s.lanes[l] = struct{}{}
	}
	t.number = s.stats.Arrived
	l.tickets = append(l.tickets, t)
	l.advance()
	return nil
}

// retire removes a call that is done, and applies the effects of the earliest
// calls when they are done. A call without an effect is removed at once:
// otherwise calls that are sent and cancelled after a long call would
// accumulate.
func (l *Lane) retire(t *Ticket) {
	if i := slices.Index(l.tickets, t); t.effect == nil && i > 0 {
		l.tickets = slices.Delete(l.tickets, i, i+1)
		if i < l.next {
			l.next--
		}
	}
	for len(l.tickets) > 0 && l.tickets[0].state == done {
		if f := l.tickets[0].effect; f != nil {
			f()
		}
		l.tickets[0] = nil
		l.tickets = l.tickets[1:]
		l.next = max(l.next-1, 0)
	}
}

// advance gives the turn to the next call if no call has it. If the call with
// the turn is unsafe and all earlier calls are done, advance brings it to the
// head of the lane.
func (l *Lane) advance() {
	for l.turn == nil && l.next < len(l.tickets) {
		t := l.tickets[l.next]
		l.next++
		if t.state == waiting {
			t.to(deciding)
			l.turn = t
			t.wake <- struct{}{}
		}
	}
	if t := l.turn; t != nil && t.state == settled && l.active == 0 {
		l.s.exclude(t)
	}
}

// enlist queues the lane for slots if it can use one.
func (l *Lane) enlist() {
	if !l.queued && len(l.ready) > 0 && l.running < l.s.config.PerLane {
		l.queued = true
		l.s.readyLanes = append(l.s.readyLanes, l)
	}
}

// prune removes calls that no longer wait for a slot. A lane without other
// waiting calls leaves the queue.
func (l *Lane) prune() {
	l.ready = slices.DeleteFunc(l.ready, func(t *Ticket) bool { return t.state != ready || t.cancelled() })
	if l.queued && len(l.ready) == 0 {
		l.queued, l.s.readyLanes = false, without(l.s.readyLanes, l)
	}
}

// overlap reports whether calls below the roots a may touch the same files as
// calls below the roots b.
func overlap(a, b []string) bool {
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	return slices.ContainsFunc(a, func(x string) bool {
		return slices.ContainsFunc(b, func(y string) bool { return inside(x, y) || inside(y, x) })
	})
}

func inside(path, folder string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(folder, "/"))
	return ok && (rest == "" || rest[0] == '/')
}
