package concurrency

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestMove checks that unsafe calls of lanes with the same roots run one after the other, and at
// the same time once an effect of one has moved its lane.
func TestMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{PerLane: 2, Queue: 10, QueueTotal: 10})
		a, b := s.NewLane("a", "/main"), s.NewLane("b", "/main")
		// begin starts an unsafe call with an effect and returns whether it runs, and its end.
		begin := func(l *Lane, effect func()) (running func() bool, end func()) {
			ticket, err := l.Arrive()
			if err != nil {
				t.Fatal(err)
			}
			started, stop := make(chan struct{}), make(chan struct{})
			go func() {
				defer ticket.Leave()
				_ = ticket.Run(t.Context(), func(context.Context) (bool, error) { return false, nil }, func(context.Context) func() {
					close(started)
					<-stop
					return effect
				})
			}()
			return func() bool {
					synctest.Wait()
					select {
					case <-started:
						return true
					default:
						return false
					}
				}, func() {
					close(stop)
					synctest.Wait()
				}
		}
		first, endFirst := begin(a, func() { a.Move("/tree") })
		if !first() {
			t.Fatal("the first call does not run")
		}
		second, endSecond := begin(b, nil)
		if second() {
			t.Fatal("calls on the same files run at the same time")
		}
		endFirst()
		if !second() {
			t.Fatal("the second call does not run")
		}
		third, endThird := begin(a, func() { a.Move("/main") })
		if !third() {
			t.Error("a call in the worktree waits for one in the checkout")
		}
		endThird()
		fourth, endFourth := begin(a, nil)
		if fourth() {
			t.Error("a call does not wait after its lane has moved back")
		}
		endSecond()
		if !fourth() {
			t.Error("the last call does not run")
		}
		endFourth()
	})
}
