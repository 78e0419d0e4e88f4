package concurrency

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestStop checks that a waiting call never starts once it is stopped, that a running one has its
// context cancelled, and that a call is shown as present until it leaves.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{})
		lane := s.NewLane("a")
		cause := errors.New("stopped")
		run := func() (*Ticket, chan error, *bool) {
			ticket, err := lane.Arrive()
			if err != nil {
				t.Fatal(err)
			}
			done, began := make(chan error, 1), new(bool)
			go func() {
				var seen error
				err := ticket.Run(t.Context(), func(context.Context) (bool, error) { return false, nil }, func(ctx context.Context) func() {
					*began = true
					<-ctx.Done()
					seen = context.Cause(ctx)
					return nil
				})
				done <- errors.Join(err, seen)
			}()
			return ticket, done, began
		}
		_, first, _ := run()
		second, ended, began := run()
		early, err := lane.Arrive() // stopped before Run
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		present := map[uint64]Stage{}
		for _, p := range s.Present() {
			present[p.Number] = p.Stage
			if (p.Waits == "") != (p.Number == 1) {
				t.Errorf("call %d waits for %q", p.Number, p.Waits)
			}
		}
		if len(present) != 3 || present[1] != StageStarted || present[2] != StageArrived || present[3] != StageArrived {
			t.Errorf("%v", present)
		}
		if s.Stop(4, cause) {
			t.Error("stopped a call that does not exist")
		}
		for _, n := range []uint64{3, second.number, 1} {
			if !s.Stop(n, cause) {
				t.Errorf("call %d is not found", n)
			}
		}
		if err := <-first; !errors.Is(err, cause) {
			t.Errorf("the running call: %v", err)
		}
		if err := <-ended; !errors.Is(err, cause) || *began {
			t.Errorf("the waiting call: %v, began %v", err, *began)
		}
		err = early.Run(t.Context(), func(context.Context) (bool, error) { t.Error("decided"); return true, nil }, func(context.Context) func() { return nil })
		if !errors.Is(err, cause) {
			t.Errorf("the early call: %v", err)
		}
		if len(s.Present()) != 0 || s.Stop(1, cause) {
			t.Error("calls that have left are present")
		}
	})
}
