package concurrency

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSameCallsSameSession checks that the effects of a lane's calls, and the
// effects each call sees, do not depend on how long the calls take.
func TestSameCallsSameSession(t *testing.T) {
	for seed := range uint64(seeds / 5) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		calls := make([]bool, 1+rnd.IntN(20))
		var want memory
		var wantSeen []int
		for i := range calls {
			calls[i] = rnd.IntN(3) > 0
			wantSeen = append(wantSeen, want.Dir)
			want.apply(i, calls[i])
		}
		for range 3 {
			synctest.Test(t, func(t *testing.T) {
				lane := New(Config{PerLane: 1 + rnd.IntN(4)}).NewLane("")
				var got memory
				seen := make([]int, len(calls))
				var wg sync.WaitGroup
				for i, safe := range calls {
					ticket, length := arrive(t, lane), time.Duration(rnd.IntN(5))*time.Second
					wg.Go(func() {
						_ = ticket.Run(t.Context(), func(context.Context) (bool, error) {
							lane.s.lock()
							defer lane.s.mu.Unlock()
							seen[i] = got.Dir
							return safe, nil
						}, func(context.Context) func() {
							time.Sleep(length)
							return func() { got.apply(i, safe) }
						})
					})
				}
				wg.Wait()
				if diff := cmp.Diff(want, got) + cmp.Diff(wantSeen, seen); diff != "" {
					t.Fatalf("seed %d, safe %v (-want +got):\n%s", seed, calls, diff)
				}
			})
		}
	}
}

// TestWaited checks the waiting times by reason, while calls wait and
// afterwards.
func TestWaited(t *testing.T) {
	withRig(t, Config{PerLane: 1, Total: 2, Now: time.Now}, func(t *testing.T, r *rig) {
		a, b := r.s.NewLane("a"), r.s.NewLane("b")
		check := func(want [WaitKinds]time.Duration, waiting ...[WaitKinds]int) {
			t.Helper()
			stats, live := r.s.Snapshot()
			if diff := cmp.Diff(want, stats.Waited); diff != "" {
				t.Errorf("after %v (-want +got):\n%s", time.Now(), diff)
			}
			for i, w := range waiting {
				if diff := cmp.Diff(w, live[i].Waiting); diff != "" {
					t.Errorf("in lane %d wait (-want +got):\n%s", i, diff)
				}
			}
		}
		r.goCall(t.Context(), a, true, pause)
		r.goCall(t.Context(), a, true, pause)  // 1 s for a slot
		r.goCall(t.Context(), a, false, pause) // 2 s for safe calls, 4 s for the other client
		r.goCall(t.Context(), a, true, pause)  // 7 s for its turn
		r.goCall(t.Context(), b, false, func(context.Context, *Ticket) { time.Sleep(6 * time.Second) })
		check([WaitKinds]time.Duration{}, [WaitKinds]int{WaitTurn: 1, WaitEarlier: 1, WaitSlot: 1}, [WaitKinds]int{})
		time.Sleep(500 * time.Millisecond)
		half := 500 * time.Millisecond
		check([WaitKinds]time.Duration{WaitTurn: half, WaitEarlier: half, WaitSlot: half})
		time.Sleep(2500 * time.Millisecond)
		_, live := r.s.Snapshot()
		if since := time.Since(live[0].Since); since != time.Second {
			t.Errorf("the first call waits for %v", since)
		}
		check([WaitKinds]time.Duration{WaitTurn: 3 * time.Second, WaitEarlier: 2 * time.Second, WaitClients: time.Second, WaitSlot: time.Second},
			[WaitKinds]int{WaitTurn: 1, WaitClients: 1})
		r.wg.Wait()
		check([WaitKinds]time.Duration{WaitTurn: 7 * time.Second, WaitEarlier: 2 * time.Second, WaitClients: 4 * time.Second, WaitSlot: time.Second})
	})
}

// TestCancelledByStage checks that a cancelled call is counted by its state at
// that time.
func TestCancelledByStage(t *testing.T) {
	var mu sync.Mutex
	var told []Stage
	observe := func(r Record) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, r.Stage)
	}
	withRig(t, Config{Observe: observe}, func(t *testing.T, r *rig) {
		for _, heeds := range []bool{true, false} { // whether decide reacts to the cancel
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			err := arrive(t, r.s.NewLane("")).Run(ctx, func(ctx context.Context) (bool, error) {
				time.Sleep(2 * time.Second)
				if heeds {
					return false, context.Cause(ctx)
				}
				return false, nil
			}, func(context.Context) func() { t.Error("it ran"); return nil })
			if err != context.Canceled {
				t.Errorf("it returned %v", err)
			}
			if diff := cmp.Diff([]Stage{StageArrived, StageTurn, StageLeft}, told); diff != "" {
				t.Errorf("stages told (-want +got):\n%s", diff)
			}
			told = nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		l := r.s.NewLane("")
		r.goCall(ctx, l, false, func(context.Context, *Ticket) { time.Sleep(time.Second) })
		r.goCall(ctx, l, false, pause)
		cancel()
		synctest.Wait()
		r.goCall(ctx, l, false, pause)
		r.wg.Wait()
		stats, _ := r.s.Snapshot()
		if diff := cmp.Diff(Cancelled{Waiting: 2, Deciding: 2, Running: 1}, stats.Cancelled); diff != "" || stats.Ran != 1 {
			t.Errorf("%d ran; cancelled (-want +got):\n%s", stats.Ran, diff)
		}
	})
}

// TestHeads checks that unsafe calls of partly overlapping lanes run as soon as
// no earlier one blocks them, also after that is cancelled. The calls they
// waited for must not retain them.
func TestHeads(t *testing.T) {
	withRig(t, Config{}, func(t *testing.T, r *rig) {
		var mu sync.Mutex
		var order []string
		start := func(ctx context.Context, name string, roots ...string) *Ticket {
			return r.goCall(ctx, r.s.NewLane(name, roots...), false, func(context.Context, *Ticket) {
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				time.Sleep(time.Second)
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		first := start(t.Context(), "a", "/a")
		start(ctx, "all, cancelled")
		start(t.Context(), "b", "/b")
		start(t.Context(), "a and c", "/a", "/c")
		start(t.Context(), "c", "/c/d")
		start(t.Context(), "e", "/e")
		if diff := cmp.Diff([]string{"a"}, order); diff != "" {
			t.Errorf("beside the first (-want +got):\n%s", diff)
		}
		cancel()
		synctest.Wait()
		if want := []string{"a", "b", "e"}; !slices.Equal(slices.Sorted(slices.Values(order)), want) {
			t.Errorf("when what was in the way of all is cancelled there run %v, want %v", order, want)
		}
		for range 100 {
			ctx, cancel := context.WithCancel(t.Context())
			start(ctx, "gone", "/a")
			cancel()
			synctest.Wait()
		}
		r.s.lock()
		if n := len(r.s.unsafe) + len(first.followers); n != 6 {
			t.Errorf("%d calls are in line and follow", n)
		}
		r.s.mu.Unlock()
		r.wg.Wait()
		if want := []string{"a and c", "c"}; !slices.Equal(order[3:], want) {
			t.Errorf("the rest ran as %v, want %v", order[3:], want)
		}
	})
}

// TestCancelledAtTheHead checks that a cancelled call that has not left yet
// does not start, and that calls are still deduplicated meanwhile.
func TestCancelledAtTheHead(t *testing.T) {
	s := New(Config{})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	var tickets []*Ticket
	for _, ctx := range []context.Context{t.Context(), cancelled, t.Context()} {
		ticket := &Ticket{lane: s.NewLane(""), ctx: ctx, wake: make(chan struct{}, 1)}
		s.exclude(ticket)
		tickets = append(tickets, ticket)
	}
	s.release(tickets[0])
	if tickets[1].state != head || tickets[2].state != head || s.generation != 1 {
		t.Errorf("states %d and %d, generation %d", tickets[1].state, tickets[2].state, s.generation)
	}
	s.release(tickets[1])
	if tickets[2].state != running || s.generation != 2 || len(s.unsafe) != 1 {
		t.Errorf("state %d, generation %d", tickets[2].state, s.generation)
	}
}
