package process

import "time"

// reserve computes how many supervisors to keep ready: as many as the last burst of
// commands used, within bounds, until no command comes for spareTime.
type reserve struct {
	least, most int
	target      int
	burst       int       // number of commands of the current burst
	last        time.Time // time of the last command
	idle        *time.Timer
}

func newReserve(c Config) reserve {
	return reserve{least: c.Spares, most: max(c.Spares, c.MaxSpares), target: c.Spares}
}

func (s *reserve) stop() {
	if s.idle != nil {
		s.idle.Stop()
	}
}

// count records that a command takes a supervisor.
func (r *Runner) count() {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, now := &r.reserve, time.Now()
	if r.closed || s.most == s.least {
		return
	}
	if now.Sub(s.last) > burstGap {
		s.burst = 0
	}
	s.burst++
	s.last = now
	s.target = max(s.target, min(s.burst, s.most))
	if s.idle == nil {
		s.idle = time.AfterFunc(spareTime, r.shrink)
	}
	s.idle.Reset(spareTime)
}

// shrink resets the reserve to the least number and ends the supervisors above it.
func (r *Runner) shrink() {
	r.mu.Lock()
	s := &r.reserve
	s.target, s.burst = s.least, 0
	var over []*supervisor
	if n := len(r.ready) - s.target; n > 0 {
		over, r.ready = r.ready[:n:n], r.ready[n:]
	}
	r.mu.Unlock()
	for _, o := range over {
		o.discard()
	}
}
