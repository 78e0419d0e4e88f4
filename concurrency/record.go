package concurrency

import (
	"cmp"
	"slices"
	"time"
)

// Times are when a call passed the stages of its life. What it did not come to
// is zero.
type Times struct {
	Arrived time.Time
	Turn    time.Time // its turn came; it was being decided from then on
	Settled time.Time // it was known to be safe or not
	Started time.Time
	Left    time.Time
}

// Record is what became of a call.
type Record struct {
	Lane        string
	LaneNumber  uint64 // unique in the process
	Number      uint64 // of the call, in order of arrival; unique in the process
	Kind, Title string
	Safe        bool
	Ran         bool
	Shared      bool // it had the result of another call
	Times
}

func (t *Ticket) record() Record {
	return Record{
		Lane: t.lane.name, LaneNumber: t.lane.number, Number: t.number, Kind: t.kind, Title: t.title,
		Safe: t.safe, Ran: t.ran, Shared: t.shared, Times: t.times,
	}
}

// Stats are counts since the start.
type Stats struct {
	Arrived   uint64
	Ran       uint64
	Cancelled uint64 // before they ran
	Shared    uint64 // had the result of another call
	Full      uint64 // refused for lack of room
	// Batches counts batches by their number of calls: index 0 those of 1 call,
	// 1 of 2, 2 of up to 4, then up to 8, 16 and 32, and the last those of more.
	Batches [7]uint64
}

// batch counts a batch of n calls.
func (s *Stats) batch(n int) {
	if n == 0 {
		return
	}
	i := 0
	for most := 1; most < n && i < len(s.Batches)-1; most *= 2 {
		i++
	}
	s.Batches[i]++
}

// Live is the calls of a lane as they are.
type Live struct {
	Lane    string
	Number  uint64
	Running []Record // in arrival order
	Queued  int
	// Waits is what the first call that waits waits for; "" if none does.
	Waits string
}

// Snapshot is all counts, and the lanes that have calls, in the order in which
// they were opened.
func (s *Scheduler) Snapshot() (Stats, []Live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lanes []Live
	for l := range s.lanes {
		live := Live{Lane: l.name, Number: l.number}
		for _, t := range l.tickets {
			switch t.state {
			case running, deciding:
				live.Running = append(live.Running, t.record())
			case done:
			default:
				live.Queued++
				if live.Waits == "" {
					live.Waits = t.waitsFor()
				}
			}
		}
		lanes = append(lanes, live)
	}
	slices.SortFunc(lanes, func(a, b Live) int { return cmp.Compare(a.Number, b.Number) })
	return s.stats, lanes
}

// WaitsFor says in a few words what the call waits for; "" if it does not.
func (t *Ticket) WaitsFor() string {
	t.lane.s.mu.Lock()
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
			if overlap(o.lane.roots, t.lane.roots) {
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
