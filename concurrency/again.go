package concurrency

// Again gives up the place of a call that has not run, and gives it one behind
// all that have arrived in its lane by now. The error is ErrFull.
func (t *Ticket) Again() (*Ticket, error) {
	t.Leave()
	return t.lane.Arrive()
}

// Lane is the lane of the call.
func (t *Ticket) Lane() *Lane { return t.lane }

// Before reports whether the call arrived before another.
func (t *Ticket) Before(u *Ticket) bool { return t.number < u.number }
