package concurrency

import "context"

// doom is a cancelled burst: which kinds of calls it concerns, and why.
type doom struct {
	concerns func(kind string) bool
	cause    error
}

// CancelBurst cancels the calls that arrived in the lane while this one, which
// still runs, was waiting or running, and those that run beside it: all of the
// lane that have not left, but itself and those whose kind does not concern.
// Who waits never starts; who runs has its context cancelled with the cause.
func (t *Ticket) CancelBurst(concerns func(kind string) bool, cause error) {
	s := t.lane.s
	s.lock()
	defer s.mu.Unlock()
	for _, o := range t.lane.tickets {
		if o != t && o.state != done {
			o.doom = append(o.doom, doom{concerns, cause})
			o.judge()
		}
	}
	t.lane.prune()
}

// arm makes the call one that can be cancelled, and reports whether it is to be
// told of.
func (t *Ticket) arm(ctx context.Context, cancel context.CancelCauseFunc) bool {
	t.lane.s.lock()
	defer t.lane.s.mu.Unlock()
	t.ctx, t.cancel = ctx, cancel
	t.judge()
	first := t.state != done && !t.told
	t.told = t.told || first
	return first
}

// judge cancels the call if a burst that concerns it was cancelled. Before Run
// that is not known.
func (t *Ticket) judge() {
	if t.cancel == nil {
		return
	}
	for _, d := range t.doom {
		if d.concerns(t.kind) {
			t.cancel(d.cause)
		}
	}
	t.doom = nil
}
