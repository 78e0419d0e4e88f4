package concurrency

// Stop cancels the call with a number, whether it waits or runs. A waiting call never starts, and a
// running call has its context cancelled with the cause. It returns false if there is no such call.
func (s *Scheduler) Stop(number uint64, cause error) bool {
	s.lock()
	defer s.mu.Unlock()
	for l := range s.lanes {
		for _, t := range l.tickets {
			if t.number == number && t.state != done {
				t.burstCancels = append(t.burstCancels, burstCancel{func(string) bool { return true }, cause})
				t.judge()
				l.prune()
				return true
			}
		}
	}
	return false
}
