package concurrency

import (
	"slices"
	"time"
)

// The model implements the rules as a slow, obvious simulation. TestModel runs
// random programs in it and in the scheduler, under a fake clock, and compares
// the results.

// phase is the state of a call in the model.
type phase uint8

const (
	absent phase = iota
	inLine
	beingDecided
	wantsSlot // safe
	wantsTurn // unsafe, waits for calls of its lane
	atHead    // unsafe, waits for calls of other lanes
	runs
	gone
)

type modelCall struct {
	plan
	outcome
	phase phase
	slot  bool
	// abandoned reports whether a cancel came before the result of the flight.
	abandoned bool
	doomed    bool // whether a burst that concerns it was cancelled
	over      bool // whether the part that can be cancelled is over and the tail runs
	effect    bool
	applied   bool
	flight    *modelFlight
	position  int // order at the head
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
	line       []int // lanes that wait for slots, in order
	flights    map[string]*modelFlight
	result
}

// play returns the result of a program by the rules.
func play(p program) result {
	m := &model{program: p, flights: map[string]*modelFlight{}}
	m.Memories = make([]memory, len(p.roots))
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
					m.Memories[c.lane].apply(i, c.safe)
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
			c.phase, c.Saw = beingDecided, m.Memories[c.lane].Dir
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
		c.Burst = false // it reports its own end
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

// work begins after the lead.
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

// abandon cancels a call that waits for a flight.
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
	burst = burst && (c.cancelled == 0 || m.now < c.cancelled) // the first cause remains
	switch c.phase {
	case absent, gone:
		return
	case beingDecided, runs:
		c.Burst, c.doomed = c.Burst || burst, c.doomed || burst
		if c.phase == runs && c.flight != nil && !c.over {
			m.abandon(c)
		} else if c.phase == runs && c.key == "" && c.Start+c.leads < m.now {
			m.finish(c)
		}
	default:
		c.Burst, c.doomed = c.Burst || burst, c.doomed || burst
		m.leave(c)
	}
}

// finish begins the tail.
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
			// Otherwise calls released by the burst and by the slot would start at the
			// same moment, in no defined order.
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
	switch {
	case !c.doomed && (c.cancelled == 0 || m.now < c.cancelled): // 9
	case c.phase == runs:
		m.Cancelled.Running++
	case c.phase == beingDecided:
		m.Cancelled.Deciding++
	default:
		m.Cancelled.Waiting++
	}
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
