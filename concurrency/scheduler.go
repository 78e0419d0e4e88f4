package concurrency

import (
	"sync"
	"time"
)

// Defaults of Config.
const (
	// DefaultPerLane is the number of safe calls of one lane that run at once.
	// Agent hosts use the same number, so a model sees the parallelism it
	// knows.
	DefaultPerLane = 10
	// DefaultTotal is the limit for all lanes together. More goroutines would
	// only compete for the same disks and cores.
	DefaultTotal = 64
	// DefaultQueue and DefaultQueueTotal limit the calls of a lane, and of all
	// lanes, that have arrived and are not done. So they limit memory too.
	DefaultQueue      = 1000
	DefaultQueueTotal = 10_000
)

// Config holds the limits and callbacks of a scheduler. A zero field has its
// default.
type Config struct {
	PerLane int // limit of safe calls of one lane that run at once
	Total   int // limit of safe calls of all lanes that run at once

	Queue      int // limit of calls of one lane that have arrived and are not done
	QueueTotal int // the same limit for all lanes together

	// Now returns the time for a Record. If nil, all times are zero.
	Now func() time.Time
	// Observe is called for each stage that a call reaches, without a lock
	// held. The stages of one call are reported in order. The arrival is
	// reported only when Run or Leave is called, because only then the kind of
	// the call is known. It may be nil.
	Observe func(Record)
	// Left is called when a call has left, as Observe is. It may be nil.
	Left func(Record)
}

// Scheduler orders the calls of all lanes. It is safe for concurrent use.
//
// Unsafe calls of lanes whose roots overlap exclude one another. They run in
// the order in which they reach the head of their lanes. Safe calls wait only
// within their own lane and for a slot. Lanes that want slots get them in turn.
type Scheduler struct {
	config Config

	mu         sync.Mutex
	moment     time.Time // see now
	calls      int       // calls that have arrived and not left
	running    int       // safe calls that hold a slot
	readyLanes []*Lane   // lanes with ready safe calls, in the order of service
	unsafe     []*Ticket // unsafe calls at the head of their lane or running, in order of reaching the head
	generation uint64    // counts begins and ends of unsafe calls and of Outside
	lanes      map[*Lane]struct{}
	opened     uint64 // number of lanes opened
	stats      Stats
}

// New returns a scheduler.
func New(c Config) *Scheduler {
	set := func(n *int, def int) {
		if *n <= 0 {
			*n = def
		}
	}
	set(&c.PerLane, DefaultPerLane)
	set(&c.Total, max(DefaultTotal, c.PerLane))
	set(&c.Queue, DefaultQueue)
	set(&c.QueueTotal, max(DefaultQueueTotal, c.Queue))
	return &Scheduler{config: c, lanes: map[*Lane]struct{}{}}
}

// lock locks the scheduler and resets the time that now returns. Callers must
// not lock mu in another way.
func (s *Scheduler) lock() {
	s.mu.Lock()
	s.moment = time.Time{}
}

// now returns the same time throughout one locked section. So a call that
// passes several states at once has not waited.
func (s *Scheduler) now() time.Time {
	if s.moment.IsZero() && s.config.Now != nil {
		s.moment = s.config.Now()
	}
	return s.moment
}

// dispatch gives free slots to waiting lanes.
func (s *Scheduler) dispatch() {
	for s.running < s.config.Total && len(s.readyLanes) > 0 {
		l := s.readyLanes[0]
		s.readyLanes = s.readyLanes[1:]
		l.queued = false
		for len(l.ready) > 0 && l.running < s.config.PerLane {
			t := l.ready[0]
			l.ready[0] = nil
			l.ready = l.ready[1:]
			if t.cancelled() {
				continue
			}
			t.slot(1)
			t.start()
			break
		}
		l.enlist()
	}
}
