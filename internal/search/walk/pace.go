package walk

import "time"

const (
	// slowCall is how long looking at a file or opening it takes where what
	// tells of it is not in memory, at least: ten times as long as where it is.
	slowCall = 20 * time.Microsecond
	// slowTurns is for how many turns the scheduler is told after a slow one.
	slowTurns = 32
)

// A Pace notes how fast a file system answers. Calls that are answered from memory
// are made without telling the scheduler, which takes a tenth of their time, and
// more where it gives the processor away meanwhile. But who waits so for a disk
// keeps others from running: so after one slow turn it is told for some. The zero
// value is ready; it is for one goroutine.
type Pace struct{ told int }

// quiet reports whether the scheduler need not be told in this turn.
func (p *Pace) quiet() bool {
	if p.told == 0 {
		return true
	}
	p.told--
	return false
}

// note takes how long some calls took.
func (p *Pace) note(took time.Duration, calls int) {
	if took > slowCall*time.Duration(calls) {
		p.told = slowTurns
	}
}
