package concurrency

import "context"

// burstCancel is a cancelled burst: the kinds of calls it concerns, and the cause.
type burstCancel struct {
	concerns func(kind string) bool
	cause    error
}

// CancelBurst cancels the burst of a running call: the calls of its lane that
// arrived while it was waiting or running, and those that run at the same time.
// These are all calls of the lane that have not left, except t itself and calls
// whose kind concerns rejects. A waiting call never starts. A running call has
// its context cancelled with the cause.
func (t *Ticket) CancelBurst(concerns func(kind string) bool, cause error) {
	s := t.lane.s
	s.lock()
	defer s.mu.Unlock()
	for _, o := range t.lane.tickets {
		if o != t && o.state != done {
			o.burstCancels = append(o.burstCancels, burstCancel{concerns, cause})
			o.judge()
		}
	}
	t.lane.prune()
}

// arm sets the context of Run, so that the call can be cancelled from now on.
// It reports whether the caller must report the arrival to the observer.
func (t *Ticket) arm(ctx context.Context, cancel context.CancelCauseFunc) bool {
	t.lane.s.lock()
	defer t.lane.s.mu.Unlock()
	t.ctx, t.cancel = ctx, cancel
	t.judge()
	first := t.state != done && !t.reported
	t.reported = t.reported || first
	return first
}

// judge cancels the call if a cancelled burst concerns it. Before Run the kind
// is not known yet, so judge does nothing.
func (t *Ticket) judge() {
	if t.cancel == nil {
		return
	}
	for _, d := range t.burstCancels {
		if d.concerns(t.kind) {
			t.cancel(d.cause)
		}
	}
	t.burstCancels = nil
}
