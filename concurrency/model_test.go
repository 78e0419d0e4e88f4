package concurrency

import (
	"math/rand/v2"
	"slices"
	"time"
)

// This file is the rules as a slow, obvious simulation. TestModel plays random
// programs in it and in the scheduler under a fake clock, and compares.

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
	Start, End               time.Duration // of its place
}

// result is what became of a program.
type result struct {
	Calls   []outcome
	Effects []int // in the order they were applied
	Flights int   // executions of what is shared
}

// phase is where a call of the model is.
type phase uint8

const (
	absent phase = iota
	inLine
	beingDecided
	wantsSlot // safe
	wantsTurn // unsafe, behind calls of its lane
	atHead    // unsafe, behind calls of other lanes
	runs
	gone
)

type modelCall struct {
	plan
	outcome
	phase phase
	slot  bool
	// abandoned says that a cancel came before the result of the flight.
	abandoned bool
	over      bool // what can be cancelled is over; the tail runs
	effect    bool
	applied   bool
	flight    *modelFlight
	position  int // at the head
}

type modelFlight struct {
	generation int
	waiting    []*modelCall
	ended      bool
}

type event struct {
	at time.Duration
	do func()
}

type model struct {
	program
	now        time.Duration
	events     []event
	calls      []*modelCall
	generation int
	heads      int
	line       []int // lanes in line for slots
	flights    map[string]*modelFlight
	result
}

// play is what the rules make of a program.
func play(p program) result {
	m := &model{program: p, flights: map[string]*modelFlight{}}
	for _, c := range p.calls {
		mc := &modelCall{plan: c}
		m.calls = append(m.calls, mc)
		m.at(c.arrives, func() { m.arrive(mc) })
		if c.cancelled > 0 {
			m.at(c.cancelled, func() { m.cancel(mc, false) })
		}
	}
	for len(m.events) > 0 {
		next := 0
		for i, e := range m.events {
			if e.at < m.events[next].at {
				next = i
			}
		}
		e := m.events[next]
		m.events = slices.Delete(m.events, next, next+1)
		m.now = e.at
		e.do()
		for m.step() {
		}
	}
	for _, c := range m.calls {
		m.Calls = append(m.Calls, c.outcome)
	}
	return m.result
}

func (m *model) at(t time.Duration, do func()) { m.events = append(m.events, event{t, do}) }

// of counts calls of a lane, or of all (-1), that a question holds for.
func (m *model) of(lane int, holds func(*modelCall) bool) (n int) {
	for _, c := range m.calls {
		if (lane < 0 || c.lane == lane) && holds(c) {
			n++
		}
	}
	return n
}

func present(c *modelCall) bool   { return c.phase != absent && c.phase != gone }
func hasSlot(c *modelCall) bool   { return c.slot }
func noSlotYet(c *modelCall) bool { return c.phase == wantsSlot }

func (m *model) arrive(c *modelCall) {
	if m.of(c.lane, present) >= m.config.Queue || m.of(-1, present) >= m.config.QueueTotal {
		c.phase, c.Full = gone, true
		return
	}
	c.phase = inLine
	if c.fate == fateLeaves {
		m.leave(c)
	}
}

// step lets one thing happen whose time has come, in the order of the rules.
func (m *model) step() bool {
	for _, c := range m.calls { // 7: effects in order of arrival
		earlier := func(o *modelCall) bool { return present(o) && o.arrives < c.arrives }
		if c.phase == gone && c.effect && !c.applied && m.of(c.lane, earlier) == 0 {
			c.applied = true
			for i, o := range m.calls {
				if o == c {
					m.Effects = append(m.Effects, i)
				}
			}
			return true
		}
	}
	for _, c := range m.calls { // 1: alone in the lane
		others := func(o *modelCall) bool { return present(o) && o.arrives < c.arrives }
		if c.phase == wantsTurn && m.of(c.lane, others) == 0 {
			m.heads++
			c.phase, c.position = atHead, m.heads
			return true
		}
	}
	for _, c := range m.calls { // 2: alone on its roots, first come first served
		inWay := func(o *modelCall) bool {
			return !o.safe && related(m.roots[o.lane], m.roots[c.lane]) && (o.phase == runs || o.phase == atHead && o.position < c.position)
		}
		if c.phase == atHead && m.of(-1, inWay) == 0 {
			m.generation++
			m.run(c)
			return true
		}
	}
	m.line = slices.DeleteFunc(m.line, func(lane int) bool { return m.of(lane, noSlotYet) == 0 })
	for lane := range m.roots { // 3: lanes take turns
		if !slices.Contains(m.line, lane) && m.of(lane, noSlotYet) > 0 && m.of(lane, hasSlot) < m.config.PerLane {
			m.line = append(m.line, lane)
			return true
		}
	}
	if len(m.line) > 0 && m.of(-1, hasSlot) < m.config.Total {
		lane := m.line[0]
		m.line = m.line[1:]
		for _, c := range m.calls {
			if c.lane == lane && noSlotYet(c) && m.of(lane, hasSlot) < m.config.PerLane {
				c.slot = true
				m.run(c)
				break
			}
		}
		return true
	}
	for _, c := range m.calls { // 1: decided once no unsafe or undecided call is ahead
		ahead := func(o *modelCall) bool {
			return o.arrives < c.arrives && (o.phase == inLine || o.phase == beingDecided || present(o) && !o.safe)
		}
		if c.phase == inLine && m.of(c.lane, ahead) == 0 {
			c.phase = beingDecided
			if c.decides == 0 {
				m.decided(c)
			} else {
				m.at(m.now+c.decides, func() { m.decided(c) })
			}
			return true
		}
	}
	return false
}

func (m *model) decided(c *modelCall) {
	switch {
	case c.phase != beingDecided:
	case c.fate == fateRefused || c.fate == fatePanicsSoon:
		c.Burst = false // its own end is what is told
		m.leave(c)
	case c.Burst || c.cancelled > 0 && c.cancelled < m.now:
		m.leave(c)
	case c.safe:
		c.phase = wantsSlot
	default:
		c.phase = wantsTurn
	}
}

func (m *model) run(c *modelCall) {
	c.phase, c.Ran, c.Start = runs, true, m.now
	m.at(m.now+c.leads, func() { m.work(c) })
}

// work is behind the lead.
func (m *model) work(c *modelCall) {
	if c.Burst || c.cancelled > 0 && c.cancelled < m.now {
		if c.key == "" {
			m.finish(c)
			return
		}
	}
	if c.key == "" {
		m.at(m.now+c.length, func() { m.finish(c) })
		return
	}
	f := m.flights[c.key]
	if f != nil && f.generation == m.generation { // 4: joins
		c.Shared, c.slot, c.flight = true, false, f
		f.waiting = append(f.waiting, c)
	} else {
		f = &modelFlight{generation: m.generation, waiting: []*modelCall{c}}
		m.flights[c.key], c.flight = f, f
		m.Flights++
		m.at(m.now+c.length, func() { m.land(c.key, f) })
	}
	if c.cancelled > 0 && c.cancelled < m.now {
		m.abandon(c)
	}
}

func (m *model) land(key string, f *modelFlight) {
	if f.ended {
		return
	}
	m.drop(key, f)
	for _, c := range f.waiting {
		m.finish(c)
	}
}

func (m *model) drop(key string, f *modelFlight) {
	f.ended = true
	if m.flights[key] == f {
		delete(m.flights, key)
	}
}

// abandon is the cancel of one that waits for a flight.
func (m *model) abandon(c *modelCall) {
	f := c.flight
	c.abandoned = true
	i := slices.Index(f.waiting, c)
	f.waiting = slices.Delete(f.waiting, i, i+1)
	if len(f.waiting) == 0 {
		m.drop(c.key, f)
	} else if c.slot {
		c.slot, f.waiting[0].slot = false, true
	}
	m.finish(c)
}

func (m *model) cancel(c *modelCall, burst bool) {
	burst = burst && (c.cancelled == 0 || m.now < c.cancelled) // the first cause stays
	switch c.phase {
	case absent, gone:
		return
	case beingDecided, runs:
		c.Burst = c.Burst || burst
		if c.phase == runs && c.flight != nil && !c.over {
			m.abandon(c)
		} else if c.phase == runs && c.key == "" && c.Start+c.leads < m.now {
			m.finish(c)
		}
	default:
		c.Burst = c.Burst || burst
		m.leave(c)
	}
}

// finish is before the tail.
func (m *model) finish(c *modelCall) {
	if c.over {
		return
	}
	c.over = true
	m.at(m.now+c.tail, func() {
		if c.fate == fateFails { // 8
			for _, o := range m.calls {
				if o != c && o.lane == c.lane && present(o) && o.key == "" {
					m.cancel(o, true)
				}
			}
			// Else what the burst lets on and what the slot lets on would come
			// at one moment, in no order.
			m.at(m.now+c.tail, func() { m.end(c) })
			return
		}
		m.end(c)
	})
}

func (m *model) end(c *modelCall) {
	c.effect = c.fate != fatePanics && (c.key != "panics" || c.abandoned)
	m.leave(c)
}

func (m *model) leave(c *modelCall) {
	if c.phase == runs {
		c.End = m.now
		if !c.safe {
			m.generation++
		}
	}
	c.phase, c.slot = gone, false
}

// related reports whether two lists of roots overlap, by their parts.
func related(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y || len(x) < len(y) && y[:len(x)+1] == x+"/" || len(y) < len(x) && x[:len(y)+1] == y+"/" {
				return true
			}
		}
	}
	return len(a) == 0 || len(b) == 0
}
