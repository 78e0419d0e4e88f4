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

// Stage is how far a call has come.
type Stage uint8

// Stages, in order. A call may leave from any of them.
const (
	StageArrived Stage = iota // waits for its turn
	StageTurn                 // is being decided on
	StageSettled              // is known to be safe or not, and waits for its place
	StageStarted
	StageLeft
	StageFull // instead of all others: was refused for lack of room
)

// Record is what became of a call so far.
type Record struct {
	Stage       Stage // that Observe is told of; not in a Snapshot
	Lane        string
	LaneNumber  uint64 // unique in the process
	Number      uint64 // of the call, in order of arrival; unique in the process
	Kind, Title string
	Safe        bool
	Ran         bool
	Shared      bool // it had the result of another call
	Cancelled   bool // before it left
	Times
}

// tell tells the observer that the call has come to a stage.
func (t *Ticket) tell(stage Stage) {
	s := t.lane.s
	if s.config.Observe == nil {
		return
	}
	s.lock()
	r := t.record()
	s.mu.Unlock()
	r.Stage = stage
	s.config.Observe(r)
}

func (t *Ticket) record() Record {
	return Record{
		Lane: t.lane.name, LaneNumber: t.lane.number, Number: t.number, Kind: t.kind, Title: t.title,
		Safe: t.safe, Ran: t.ran, Shared: t.shared, Cancelled: t.gaveUp, Times: t.times,
	}
}

// Stats are counts since the start.
type Stats struct {
	Arrived   uint64
	Ran       uint64
	Cancelled Cancelled
	Shared    uint64 // had the result of another call
	Full      uint64 // refused for lack of room
	// Batches counts batches by their number of calls: index 0 those of 1 call,
	// 1 of 2, 2 of up to 4, then up to 8, 16 and 32, and the last those of more.
	Batches [7]uint64
	// Waited is how long calls have waited for what, those that wait now
	// included.
	Waited [WaitKinds]time.Duration
}

// Cancelled counts calls whose context ended, by when it did.
type Cancelled struct {
	Waiting  uint64
	Deciding uint64
	Running  uint64 // whether or not they took notice
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
	Waiting [WaitKinds]int // of those queued, by what they wait for
	// Waits is what the first call that waits waits for, and Since when it
	// began to; "" if none does.
	Waits string
	Since time.Time
}

// Snapshot is all counts, and the lanes that have calls, in the order in which
// they were opened.
func (s *Scheduler) Snapshot() (Stats, []Live) {
	s.lock()
	defer s.mu.Unlock()
	var lanes []Live
	stats, now := s.stats, s.now()
	for l := range s.lanes {
		live := Live{Lane: l.name, Number: l.number}
		for _, t := range l.tickets {
			switch t.state {
			case running, deciding:
				r := t.record()
				if !t.begun { // it does not know yet that its turn has come
					r.Turn = t.since
				}
				live.Running = append(live.Running, r)
			case done:
			default:
				wait, _ := t.state.wait()
				stats.Waited[wait] += now.Sub(t.since)
				live.Waiting[wait]++
				if live.Queued++; live.Waits == "" {
					live.Waits, live.Since = t.waitsFor(), t.since
				}
			}
		}
		lanes = append(lanes, live)
	}
	slices.SortFunc(lanes, func(a, b Live) int { return cmp.Compare(a.Number, b.Number) })
	return stats, lanes
}
