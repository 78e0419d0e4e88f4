package walk

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestPace checks that the scheduler is notified until many turns were fast, again
// after a slow one, and always without a Pace.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(Pace)
		turn := func(p *Pace, took time.Duration, calls int) (quiet bool) {
			p.turn(func(q bool) int {
				quiet = q
				time.Sleep(took)
				return calls
			})
			return quiet
		}
		for _, slow := range []struct {
			took  time.Duration
			calls int
		}{{slowCall + 1, 1}, {2*slowCall + 1, 2}} {
			for i := range 3 * fastTurns {
				if quiet := turn(p, 2*slowCall, 2); quiet != (i >= fastTurns) {
					t.Errorf("turn %d: quiet is %v", i, quiet)
				}
			}
			turn(p, slow.took, slow.calls)
		}
		for range 2 * fastTurns {
			if turn(nil, 0, 1) {
				t.Fatal("no Pace is quiet")
			}
		}
	})
}
