package concurrency

import "time"

// Wait is what a call waits for.
type Wait uint8

const (
	WaitTurn    Wait = iota // earlier calls of its lane: one that is not decided on, or unsafe and not done
	WaitEarlier             // unsafe: safe calls of its lane that run
	WaitClients             // unsafe: those of other lanes
	WaitSlot                // safe: too many run at once
	WaitKinds               // how many there are
)

// wait is what a call in a state waits for, if it does.
func (s state) wait() (Wait, bool) {
	switch s {
	case waiting:
		return WaitTurn, true
	case settled:
		return WaitEarlier, true
	case head:
		return WaitClients, true
	case ready:
		return WaitSlot, true
	}
	return 0, false
}

// to brings the call to a state, counts the time for which it has waited in the
// last, and returns the time.
func (t *Ticket) to(next state) time.Time {
	s := t.lane.s
	now := s.now()
	if w, waits := t.state.wait(); waits && !t.since.IsZero() {
		s.stats.Waited[w] += now.Sub(t.since)
	}
	t.state, t.since = next, now
	return now
}

// WaitsFor says in a few words what the call waits for; "" if it does not.
func (t *Ticket) WaitsFor() string {
	t.lane.s.lock()
	defer t.lane.s.mu.Unlock()
	return t.waitsFor()
}

func (t *Ticket) waitsFor() string {
	switch t.state {
	case waiting:
		if turn := t.lane.turn; turn != nil {
			return "an earlier call: " + turn.name()
		}
	case ready:
		return "a slot: as many calls run as may at once"
	case settled:
		for _, o := range t.lane.tickets {
			if o.state == running || o.state == ready {
				return "an earlier call: " + o.name()
			}
		}
	case head:
		for _, o := range t.lane.s.unsafe {
			if o.state == running && overlap(o.lane.roots, t.lane.roots) {
				return "a call of another client: " + o.kind
			}
		}
		return "an earlier call of another client"
	}
	return ""
}

// name is how a call is named to others of its lane.
func (t *Ticket) name() string {
	switch {
	case t.title != "":
		return t.title
	case t.kind != "":
		return t.kind
	}
	return "one that has just come"
}
