package concurrency

import "slices"

// This file has the order of unsafe calls of different lanes. Those at the head
// of their lane and those that run are in one list, in the order in which they
// came there. A call may run when no earlier one of the list has overlapping
// roots. It waits for the latest that has: until that leaves nothing can let it
// run, and then only the calls before that are left to be looked at. So a call
// looks at each of the list once in its life, and an event that has nothing to
// do with it costs nothing.

// exclude puts a call at the head of its lane in the list.
func (s *Scheduler) exclude(t *Ticket) {
	t.to(head)
	s.unsafe = append(s.unsafe, t)
	s.follow(t, len(s.unsafe)-1)
}

// follow starts a call, or has it wait for the latest overlapping one of the
// first n of the list.
func (s *Scheduler) follow(t *Ticket, n int) {
	for _, o := range slices.Backward(s.unsafe[:n]) {
		if overlap(o.lane.roots, t.lane.roots) {
			t.behind = o
			o.followers = append(o.followers, t)
			return
		}
	}
	t.behind = nil
	if !t.cancelled() {
		s.generation++
		t.start()
	}
}

// release takes a call out of the list.
func (s *Scheduler) release(t *Ticket) {
	n := slices.Index(s.unsafe, t)
	s.unsafe = slices.Delete(s.unsafe, n, n+1)
	if t.behind != nil {
		t.behind.followers = without(t.behind.followers, t)
	}
	for _, f := range t.followers {
		s.follow(f, n)
	}
	t.behind, t.followers = nil, nil
}
