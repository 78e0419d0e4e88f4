package concurrency

import "time"

// Wait is the reason why a call waits.
type Wait uint8

const (
	WaitTurn    Wait = iota // earlier calls of its lane that are undecided, or unsafe and not done
	WaitEarlier             // unsafe: running safe calls of its lane
	WaitClients             // unsafe: calls of other lanes
	WaitSlot                // safe: the limit of running calls
	WaitKinds               // number of reasons
)

// wait returns the reason why a call in the state waits, and false if it does
// not wait.
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

// to changes the state of the call, adds the time spent in the previous state
// to the statistics if the call waited, and returns the present time.
func (t *Ticket) to(next state) time.Time {
	s := t.lane.s
	now := s.now()
	if w, waits := t.state.wait(); waits && !t.since.IsZero() {
		s.stats.Waited[w] += now.Sub(t.since)
	}
	t.state, t.since = next, now
	return now
}

// WaitsFor returns a short text on what the call waits for, or "" if it does
// not wait.
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
			if o.state == running && overlap(o.lane.below(), t.lane.below()) {
				return "a call of another client: " + o.kind
			}
		}
		return "an earlier call of another client"
	}
	return ""
}

// name returns the name of the call in messages to other calls of its lane.
func (t *Ticket) name() string {
	switch {
	case t.title != "":
		return t.title
	case t.kind != "":
		return t.kind
	}
	return "one that has just come"
}
