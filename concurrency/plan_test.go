package concurrency

import (
	"math/rand/v2"
	"slices"
	"time"
)

// This file is what programs of calls there are, and what may become of them.

// fate is what becomes of a call by itself.
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
	key                                      string // calls of one key share
	arrives, cancelled, decides, leads, tail time.Duration
	length                                   time.Duration // of what can be cancelled or shared
}

// program is what is played.
type program struct {
	config Config
	roots  [][]string
	calls  []plan // in order of arrival
}

var someRoots = [][]string{nil, {"/a"}, {"/a"}, {"/a/b"}, {"/ab"}, {"/c"}, {"/c", "/a/b/d"}}

// random makes a program. All moments differ, so that what happens does not
// depend on which goroutine is first.
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

// outcome is what became of a call. Times are zero for what did not happen.
type outcome struct {
	Full, Ran, Shared, Burst bool
	Saw                      int           // what it found in memory.Dir when its turn came
	Start, End               time.Duration // of its place
}

// memory is what a lane remembers. Each call changes it so that the order of
// any two calls shows.
type memory struct {
	List []int // calls
	Last int   // the number of the last call, from 1
	Dir  int   // of the last unsafe call
}

// apply is the effect of call i.
func (m *memory) apply(i int, safe bool) {
	m.List, m.Last = append(m.List, i), i+1
	if !safe {
		m.Dir = i + 1
	}
}

// result is what became of a program.
type result struct {
	Calls     []outcome
	Effects   []int // in the order they were applied
	Memories  []memory
	Cancelled Cancelled
	Flights   int // executions of what is shared
}
