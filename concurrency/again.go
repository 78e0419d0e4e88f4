package concurrency

// Again gives up the place of a call that has not run. It returns a new place
// after all calls that have arrived in the lane, or ErrFull.
func (t *Ticket) Again() (*Ticket, error) {
	t.Leave()
	return t.lane.Arrive()
}

// Lane returns the lane of the call.
func (t *Ticket) Lane() *Lane { return t.lane }

// Before reports whether the call arrived before u.
func (t *Ticket) Before(u *Ticket) bool { return t.number < u.number }
