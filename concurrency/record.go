package concurrency

import (
	"cmp"
	"slices"
	"time"
)

// Times holds the times at which a call reached its stages. The time of a stage
// it has not reached is zero.
type Times struct {
	Arrived time.Time
	Turn    time.Time // when its turn came and deciding began
	Settled time.Time // when it was decided to be safe or unsafe
	Started time.Time
	Left    time.Time
}

// Stage is the progress of a call.
type Stage uint8

// Stages, in order. A call may leave from any of them.
const (
	StageArrived Stage = iota // waits for its turn
	StageTurn                 // is being decided
	StageSettled              // is decided to be safe or unsafe, and waits to run
	StageStarted
	StageLeft
	StageFull // instead of all others: refused because there was no room
)

// Record describes the progress of a call.
type Record struct {
	Stage       Stage // the stage that Observe reports; not set in a Snapshot
	Lane        string
	LaneNumber  uint64 // unique in the process
	Number      uint64 // of the call, in order of arrival; unique in the process
	Kind, Title string
	Safe        bool
	Ran         bool
	Shared      bool   // whether it shared the result of another call
	Cancelled   bool   // whether it was cancelled before it left
	Outcome     string // set by Ticket.Outcome; "" if it is not known
	Times
}

// notify reports to the observers that the call has reached a stage.
func (t *Ticket) notify(stage Stage) {
	s := t.lane.s
	observe, left := s.config.Observe, s.config.Left
	if stage != StageLeft {
		left = nil
	}
	if observe == nil && left == nil {
		return
	}
	s.lock()
	r := t.record()
	s.mu.Unlock()
	r.Stage = stage
	if observe != nil {
		observe(r)
	}
	if left != nil {
		left(r)
	}
}

func (t *Ticket) record() Record {
	return Record{
		Lane: t.lane.name, LaneNumber: t.lane.number, Number: t.number, Kind: t.kind, Title: t.title,
		Safe: t.safe, Ran: t.ran, Shared: t.shared, Cancelled: t.wasCancelled, Outcome: t.outcome, Times: t.times,
	}
}

// Present is a call that has not left.
type Present struct {
	Record        // with its Stage
	Waits  string // reason of its wait; "" if it does not wait
}

// Present returns all calls that have not left, in no order.
func (s *Scheduler) Present() (out []Present) {
	s.lock()
	defer s.mu.Unlock()
	for l := range s.lanes {
		for _, t := range l.tickets {
			if t.state == done {
				continue
			}
			p := Present{t.record(), t.waitsFor()}
			p.Stage = presentStages[t.state]
			if t.state == deciding && !t.begun {
				p.Turn = t.since
			}
			out = append(out, p)
		}
	}
	return out
}

var presentStages = [...]Stage{
	waiting: StageArrived, deciding: StageTurn, ready: StageSettled, settled: StageSettled, head: StageSettled, running: StageStarted,
}

// Stats holds counts and waiting times since the start.
type Stats struct {
	Arrived   uint64
	Ran       uint64
	Cancelled Cancelled
	Shared    uint64 // calls that shared the result of another
	Full      uint64 // calls refused because there was no room
	// Batches counts batches by their number of calls: index 0 batches of 1
	// call, 1 of 2, 2 of up to 4, then up to 8, 16 and 32, and the last index
	// larger ones.
	Batches [7]uint64
	// Waited is the total time that calls have waited, by reason. It includes
	// calls that wait now.
	Waited [WaitKinds]time.Duration
}

// Cancelled counts calls whose context ended, by the state they were in.
type Cancelled struct {
	Waiting  uint64
	Deciding uint64
	Running  uint64 // whether or not they reacted
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

// Live describes the present calls of a lane.
type Live struct {
	Lane    string
	Number  uint64
	Running []Record // in order of arrival
	Queued  int
	Waiting [WaitKinds]int // number of queued calls by what they wait for
	// Waits describes what the first waiting call waits for; "" if no call
	// waits. Since is the time since which it waits.
	Waits string
	Since time.Time
}

// Snapshot returns all counts, and the lanes that have calls, in the order in
// which they were opened.
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
				if !t.begun { // it has not noticed yet that its turn has come
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
