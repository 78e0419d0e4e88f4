package concurrency

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// rig runs calls under a fake clock.
type rig struct {
	*testing.T
	s  *Scheduler
	g  *Group
	wg sync.WaitGroup
}

func withRig(t *testing.T, c Config, f func(*testing.T, *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, s: New(c)}
		r.g = NewGroup(r.s)
		f(t, r)
		r.wg.Wait()
		if left := r.s.left(nil); left != "" || len(r.g.flights) != 0 {
			t.Errorf("left behind: %s, %d flights", left, len(r.g.flights))
		}
	})
}

// goCall starts a call whose exec is f.
func (r *rig) goCall(ctx context.Context, l *Lane, safe bool, f func(context.Context, *Ticket)) *Ticket {
	ticket := arrive(r, l)
	ticket.Label("call", fmt.Sprintf("call %d", ticket.number))
	r.wg.Go(func() {
		_ = ticket.Run(ctx, func(context.Context) (bool, error) { return safe, nil }, func(ctx context.Context) func() {
			f(ctx, ticket)
			return nil
		})
	})
	synctest.Wait()
	return ticket
}

// slots returns the number of slots in use.
func (r *rig) slots() int {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.s.running
}

// pause is an exec function that takes a second.
func pause(context.Context, *Ticket) { time.Sleep(time.Second) }

// long returns shared work that takes a minute.
func long(stopped *bool) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		select {
		case <-ctx.Done():
			*stopped = true
			return nil, ctx.Err()
		case <-time.After(time.Minute):
			return "result", nil
		}
	}
}

// TestSharedCancel checks that a cancelled call leaves at once. The shared work
// continues for the other calls, in a slot, and stops with the last of them.
func TestSharedCancel(t *testing.T) {
	for name, order := range map[string][]int{"joiners first": {2, 1, 0}, "leader first": {0, 1, 2}, "the leader stays": {1, 2}} {
		t.Run(name, func(t *testing.T) {
			withRig(t, Config{PerLane: 1, Total: 2}, func(t *testing.T, r *rig) {
				var cancels []context.CancelFunc
				var stopped bool
				var tickets []*Ticket
				errs := make([]error, 3)
				shared := make([]bool, 3)
				for i := range 3 {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					cancels = append(cancels, cancel)
					tickets = append(tickets, r.goCall(ctx, r.s.NewLane(""), true, func(ctx context.Context, ticket *Ticket) {
						_, shared[i], errs[i] = r.g.Do(ctx, ticket, "key", long(&stopped))
					}))
				}
				if diff := cmp.Diff([]bool{false, false, false}, shared); diff != "" || r.slots() != 1 {
					t.Errorf("%d slots are held while three share one execution", r.slots())
				}
				for i, n := range order {
					cancels[n]()
					synctest.Wait()
					r.s.mu.Lock()
					if n == 0 && i == 0 && tickets[1].slots != 1 {
						t.Error("the slot did not pass to the one that has waited longest")
					}
					r.s.mu.Unlock()
					if last := i == 2; stopped != last || errs[n] == nil || r.slots() != map[bool]int{false: 1, true: 0}[last] {
						t.Fatalf("after %d cancels: stopped %v, %d slots, %v", i+1, stopped, r.slots(), errs)
					}
				}
				r.wg.Wait()
				if len(order) == 2 && errs[0] != nil || !shared[1] || !shared[2] || shared[0] {
					t.Errorf("shared %v, %v", shared, errs)
				}
			})
		})
	}
}

// TestStoppedIsNotJoined checks that a call does not join an execution that was
// cancelled and has not ended yet, but runs its own.
func TestStoppedIsNotJoined(t *testing.T) {
	withRig(t, Config{}, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(t.Context())
		r.goCall(ctx, r.s.NewLane(""), true, func(ctx context.Context, ticket *Ticket) {
			_, _, _ = r.g.Do(ctx, ticket, "key", func(ctx context.Context) (any, error) {
				<-ctx.Done()
				time.Sleep(time.Minute)
				return nil, ctx.Err()
			})
			if r.slots() != 2 {
				t.Errorf("the place is free before what was begun for it has ended")
			}
		})
		cancel()
		synctest.Wait()
		r.goCall(t.Context(), r.s.NewLane(""), true, func(ctx context.Context, ticket *Ticket) {
			v, shared, err := r.g.Do(ctx, ticket, "key", func(context.Context) (any, error) { time.Sleep(time.Hour); return 1, nil })
			if v != 1 || shared || err != nil {
				t.Errorf("got %v, shared %v, %v", v, shared, err)
			}
		})
	})
}

// TestNotSharedAcrossUnsafe checks that a call does not join an execution if an
// unsafe call has begun or ended since its start. It joins an execution started
// afterwards.
func TestNotSharedAcrossUnsafe(t *testing.T) {
	for _, when := range []string{"began", "ended", "no"} {
		withRig(t, Config{}, func(t *testing.T, r *rig) {
			runs := 0
			look := func() {
				r.goCall(t.Context(), r.s.NewLane(""), true, func(ctx context.Context, ticket *Ticket) {
					_, _, _ = r.g.Do(ctx, ticket, "key", func(context.Context) (any, error) {
						runs++
						time.Sleep(time.Minute)
						return nil, nil
					})
				})
			}
			if when == "ended" {
				r.goCall(t.Context(), r.s.NewLane(""), false, pause)
			}
			look()
			if when == "began" {
				r.goCall(t.Context(), r.s.NewLane(""), false, pause)
			}
			if when == "ended" {
				time.Sleep(2 * time.Second)
			}
			look()
			look()
			if want := map[string]int{"began": 2, "ended": 2, "no": 1}[when]; runs != want {
				t.Errorf("an unsafe call %s: %d executions, want %d", when, runs, want)
			}
		})
	}
}

// TestSharedPanic checks that all calls that share a panicking execution panic
// and leave their places.
func TestSharedPanic(t *testing.T) {
	withRig(t, Config{}, func(t *testing.T, r *rig) {
		for range 3 {
			r.goCall(t.Context(), r.s.NewLane(""), true, func(ctx context.Context, ticket *Ticket) {
				defer func() {
					p, ok := recover().(*Panic)
					if !ok || p.Value != "boom" || !strings.Contains(string(p.Stack), "TestSharedPanic") {
						t.Errorf("recovered %v", p)
					}
				}()
				_, _, _ = r.g.Do(ctx, ticket, "key", func(context.Context) (any, error) { time.Sleep(time.Second); panic("boom") })
			})
		}
	})
}

// TestDepart checks that an unsafe call does not wait for an earlier call that has
// departed, that the scheduler is empty when that call still runs, and that its effect is
// applied.
func TestDepart(t *testing.T) {
	withRig(t, Config{PerLane: 1, Total: 1}, func(t *testing.T, r *rig) {
		l := r.s.NewLane("")
		ticket, err := l.Arrive()
		if err != nil {
			t.Fatal(err)
		}
		applied := 0
		err = ticket.Run(t.Context(), func(context.Context) (bool, error) { return true, nil }, func(context.Context) func() {
			ticket.Depart()
			return func() { applied++ }
		})
		if err != nil || applied != 1 {
			t.Errorf("the effect was applied %d times, %v", applied, err)
		}
		began := time.Now()
		r.goCall(t.Context(), l, true, func(_ context.Context, ticket *Ticket) {
			ticket.Depart()
			ticket.Depart()
			time.Sleep(time.Hour)
			if _, live := r.s.Snapshot(); len(live) > 0 {
				t.Errorf("%d calls have a place", len(live))
			}
		})
		r.goCall(t.Context(), l, false, func(_ context.Context, ticket *Ticket) {
			ticket.Depart() // has no effect: the call is unsafe
			if _, live := r.s.Snapshot(); time.Since(began) > 0 || len(live) != 1 {
				t.Errorf("it ran after %v, with %d calls that have a place", time.Since(began), len(live))
			}
		})
	})
}

// TestYieldAndResume checks that a call that has yielded holds no slot, and
// waits for one in Resume.
func TestYieldAndResume(t *testing.T) {
	withRig(t, Config{PerLane: 1, Total: 1}, func(t *testing.T, r *rig) {
		l := r.s.NewLane("")
		began := time.Now()
		r.goCall(t.Context(), l, true, func(ctx context.Context, ticket *Ticket) {
			ticket.Yield()
			ticket.Yield()
			time.Sleep(time.Millisecond) // the other call takes the slot
			if err := ticket.Resume(ctx); err != nil || r.slots() != 1 {
				t.Errorf("%d slots are held, %v", r.slots(), err)
			}
			if err := ticket.Resume(ctx); err != nil { // it already has a slot
				t.Error(err)
			}
			if waited := time.Since(began); waited != time.Second {
				t.Errorf("it resumed after %v", waited)
			}
		})
		r.goCall(t.Context(), l, true, pause)
	})
	withRig(t, Config{PerLane: 1, Total: 1}, func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancelCause(t.Context())
		r.goCall(ctx, r.s.NewLane(""), true, func(ctx context.Context, ticket *Ticket) {
			ticket.Yield()
			time.Sleep(time.Millisecond) // the other call takes the slot
			if err := ticket.Resume(ctx); !errors.Is(err, errBurst) {
				t.Errorf("Resume of a cancelled call returned %v", err)
			}
			if stats, _ := r.s.Snapshot(); stats.Cancelled != (Cancelled{}) {
				t.Error("a call that ran counts as cancelled before it did")
			}
		})
		r.goCall(t.Context(), r.s.NewLane(""), true, pause)
		cancel(errBurst)
	})
}
