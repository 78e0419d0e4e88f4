package concurrency

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Random programs of calls are generated here, with the possible ends of each
// call.

// fate is the way in which a call ends by itself.
type fate uint8

const (
	fateRuns       fate = iota
	fateRefused         // by decide
	fatePanicsSoon      // in decide
	fatePanics          // at the end
	fateLeaves          // never runs
	fateFails           // cancels its burst
	fates
)

// plan is one call of a random program.
type plan struct {
	lane                                     int
	safe                                     bool
	fate                                     fate
	key                                      string // calls with the same key are deduplicated
	arrives, cancelled, decides, leads, tail time.Duration
	length                                   time.Duration // of the part that can be cancelled or shared
}

// program is a sequence of calls to run.
type program struct {
	config Config
	roots  [][]string
	calls  []plan // in order of arrival
}

var someRoots = [][]string{nil, {"/a"}, {"/a"}, {"/a/b"}, {"/ab"}, {"/c"}, {"/c", "/a/b/d"}}

// random generates a program. No two events happen at the same time, so the
// result does not depend on the order of goroutines.
func random(seed uint64) program {
	rnd := rand.New(rand.NewPCG(seed, 7))
	moment := func(most time.Duration) time.Duration { return 1 + time.Duration(rnd.Int64N(int64(most))) }
	p := program{config: Config{PerLane: 1 + rnd.IntN(3), Total: 1 + rnd.IntN(5), Queue: 1000, QueueTotal: 1000}}
	for range 1 + rnd.IntN(4) {
		p.roots = append(p.roots, someRoots[rnd.IntN(len(someRoots))])
	}
	if rnd.IntN(4) == 0 {
		p.config.Queue, p.config.QueueTotal = 2+rnd.IntN(5), 3+rnd.IntN(9)
	}
	lengths := map[string]time.Duration{"x": moment(40 * time.Second), "y": moment(40 * time.Second), "panics": moment(20 * time.Second)}
	safes := 1 + rnd.IntN(10)
	for range 1 + rnd.IntN(30) {
		c := plan{
			lane: rnd.IntN(len(p.roots)), safe: rnd.IntN(10) < safes, arrives: moment(60 * time.Second),
			leads: moment(time.Second), tail: moment(time.Second), length: moment(20 * time.Second),
		}
		if rnd.IntN(3) == 0 {
			c.fate = fate(rnd.IntN(int(fates)))
		}
		if rnd.IntN(3) == 0 {
			c.decides = moment(5 * time.Second)
		}
		if rnd.IntN(4) == 0 {
			c.cancelled = c.arrives + moment(60*time.Second)
		}
		if c.safe && c.fate == fateRuns && rnd.IntN(2) == 0 {
			c.key = []string{"x", "y", "panics"}[rnd.IntN(3)]
			c.length = lengths[c.key]
		}
		p.calls = append(p.calls, c)
	}
	slices.SortFunc(p.calls, func(a, b plan) int { return int(a.arrives - b.arrives) })
	return p
}

// outcome is the result of one call. The time of an event that did not happen
// is zero.
type outcome struct {
	Full, Ran, Shared, Burst bool
	Saw                      int           // value of memory.Dir at its turn
	Start, End               time.Duration // of its place
}

// memory is the state of a lane. Each call changes it so that the order of any
// two calls is visible.
type memory struct {
	List []int // calls
	Last int   // the number of the last call, from 1
	Dir  int   // of the last unsafe call
}

// apply records the effect of call i.
func (m *memory) apply(i int, safe bool) {
	m.List, m.Last = append(m.List, i), i+1
	if !safe {
		m.Dir = i + 1
	}
}

// result is the result of a program.
type result struct {
	Calls     []outcome
	Effects   []int // calls, in the order their effects were applied
	Memories  []memory
	Cancelled Cancelled
	Flights   int // number of shared executions
}
