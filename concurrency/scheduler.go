package concurrency

import (
	"slices"
	"sync"
	"time"
)

// Defaults of Config.
const (
	// DefaultPerLane is how many safe calls of one lane run at once: what
	// agent hosts use, so that a model sees the parallelism it knows.
	DefaultPerLane = 10
	// DefaultTotal bounds all lanes together; beyond it more goroutines only
	// take turns on the same disks and cores.
	DefaultTotal = 64
	// DefaultQueue and DefaultQueueTotal bound the calls of a lane, and of all,
	// that have arrived and are not done, and with them memory.
	DefaultQueue      = 1000
	DefaultQueueTotal = 10_000
)

// Config is what a scheduler works with. The zero value of a field is its default.
type Config struct {
	PerLane int // safe calls of one lane that run at once
	Total   int // safe calls of all lanes that run at once

	Queue      int // calls of one lane that have arrived and are not done
	QueueTotal int // calls of all lanes

	// Now is asked for the times of a Record. nil: they are zero.
	Now func() time.Time
	// Observe is told of every call that has left, in no particular order and
	// without a lock held. nil: nobody is.
	Observe func(Record)
}

// Scheduler orders the calls of all lanes. It is safe for concurrent use.
//
// Unsafe calls of lanes whose roots overlap exclude one another, first come
// first served by their arrival at the head of their lane. Safe calls wait only
// within their own lane and for a slot; slots go round the lanes that want one.
type Scheduler struct {
	config Config

	mu         sync.Mutex
	calls      int       // that have arrived and not left
	running    int       // safe calls that hold a slot
	want       []*Lane   // lanes with ready safe calls, next to be served first
	unsafe     []*Ticket // unsafe calls running
	heads      []*Ticket // unsafe calls at the head of their lane, in order of coming there
	generation uint64    // counts beginnings and ends of unsafe calls
	lanes      map[*Lane]struct{}
	opened     uint64 // lanes, for their numbers
	stats      Stats
}

// New makes a scheduler.
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

func (s *Scheduler) now() time.Time {
	if s.config.Now == nil {
		return time.Time{}
	}
	return s.config.Now()
}

// dispatch starts what may start.
func (s *Scheduler) dispatch() {
	s.dispatchUnsafe()
	for s.running < s.config.Total && len(s.want) > 0 {
		l := s.want[0]
		s.want = s.want[1:]
		l.wanted = false
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

// dispatchUnsafe starts each unsafe call that no running one, and no earlier
// waiting one, of an overlapping lane is in the way of.
func (s *Scheduler) dispatchUnsafe() {
	var waiting []*Ticket
	for _, t := range s.heads {
		if t.state != head || t.cancelled() {
			continue
		}
		blocks := func(o *Ticket) bool { return overlap(o.lane.roots, t.lane.roots) }
		if slices.ContainsFunc(s.unsafe, blocks) || slices.ContainsFunc(waiting, blocks) {
			waiting = append(waiting, t)
			continue
		}
		s.unsafe = append(s.unsafe, t)
		s.generation++
		t.start()
	}
	s.heads = waiting
}
