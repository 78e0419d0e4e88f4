package concurrency

import "slices"

// Unsafe calls of different lanes are ordered by one list. It holds those at
// the head of their lane and those that run, in the order in which they reached
// the head. A call may run when no earlier call of the list has overlapping
// roots. It waits for the latest such call. Until that leaves, nothing can let
// it run, and afterwards only the calls before that one remain to be checked.
// So a call checks each entry at most once, and unrelated events cost nothing.

// exclude adds a call at the head of its lane to the list.
func (s *Scheduler) exclude(t *Ticket) {
	t.to(head)
	s.unsafe = append(s.unsafe, t)
	s.follow(t, len(s.unsafe)-1)
}

// follow starts a call, or makes it wait for the latest of the first n calls of
// the list whose roots overlap.
func (s *Scheduler) follow(t *Ticket, n int) {
	for _, o := range slices.Backward(s.unsafe[:n]) {
		if overlap(o.lane.below(), t.lane.below()) {
			t.predecessor = o
			o.followers = append(o.followers, t)
			return
		}
	}
	t.predecessor = nil
	if !t.cancelled() {
		s.generation++
		t.start()
	}
}

// release removes a call from the list.
func (s *Scheduler) release(t *Ticket) {
	n := slices.Index(s.unsafe, t)
	s.unsafe = slices.Delete(s.unsafe, n, n+1)
	if t.predecessor != nil {
		t.predecessor.followers = without(t.predecessor.followers, t)
	}
	for _, f := range t.followers {
		s.follow(f, n)
	}
	t.predecessor, t.followers = nil, nil
}
