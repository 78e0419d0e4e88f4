package walk

import "time"

const (
	// slowCall is the minimum time of looking at or opening a file whose metadata is
	// not in memory. It is ten times that of a file whose metadata is.
	slowCall = 20 * time.Microsecond
	// fastTurns is the number of consecutive turns that must have been fast.
	fastTurns = 32
)

// Pace measures how fast a file system answers. Calls that are answered from memory are
// made without notifying the scheduler. Notifying takes a tenth of their time, and more
// if the scheduler hands the processor over meanwhile. But a thread that waits for a
// disk without notifying it keeps other goroutines from running. So it is omitted only
// while turns are fast, and each Pace begins with notifying. A Pace is for one
// goroutine; a nil Pace always notifies.
type Pace struct{ fast int }

// turn calls do, which makes some system calls and returns their number. If quiet is
// set, they may be made without notifying the scheduler.
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
