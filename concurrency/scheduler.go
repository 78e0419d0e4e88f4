package concurrency

import (
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
	// Observe is told of each stage that a call comes to, without a lock held.
	// Of one call it is told in order, of its arrival only when that is Run or
	// left, so that its kind is known. nil: nobody is.
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
	moment     time.Time // see now
	calls      int       // that have arrived and not left
	running    int       // safe calls that hold a slot
	want       []*Lane   // lanes with ready safe calls, next to be served first
	unsafe     []*Ticket // unsafe calls at the head of their lane or running, in order of coming there
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

// lock is how the scheduler is locked.
func (s *Scheduler) lock() {
	s.mu.Lock()
	s.moment = time.Time{}
}

// now is the time of what happens under the lock, asked for once: what comes at
// once has not waited.
func (s *Scheduler) now() time.Time {
	if s.moment.IsZero() && s.config.Now != nil {
		s.moment = s.config.Now()
	}
	return s.moment
}

// dispatch gives out slots.
func (s *Scheduler) dispatch() {
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
