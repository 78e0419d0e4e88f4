package walk

import "time"

const (
	// slowCall is how long looking at a file or opening it takes where what
	// tells of it is not in memory, at least: ten times as long as where it is.
	slowCall = 20 * time.Microsecond
	// fastTurns is how many turns in a row must have been fast.
	fastTurns = 32
)

// A Pace notes how fast a file system answers. Calls that are answered from memory
// are made without telling the scheduler, which takes a tenth of their time, and
// more where it gives the processor away meanwhile. But who waits so for a disk
// keeps others from running: so that is done only while turns are fast, and each
// Pace begins with telling. It is for one goroutine; nil always tells.
type Pace struct{ fast int }

// turn does some calls, and is told how many. With quiet they may be made without
// telling the scheduler.
func (p *Pace) turn(do func(quiet bool) (calls int)) {
	if p == nil {
		do(false)
		return
	}
	begin := time.Now()
	calls := do(p.fast >= fastTurns)
	if p.fast++; time.Since(begin) > slowCall*time.Duration(calls) {
		p.fast = 0
	}
}
