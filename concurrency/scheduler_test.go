package concurrency

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPartition(t *testing.T) {
	for _, tc := range []struct {
		calls string // s: safe, u: unsafe
		want  [][]int
	}{
		{"", nil},
		{"s", [][]int{{0}}},
		{"u", [][]int{{0}}},
		{"ssus", [][]int{{0, 1}, {2}, {3}}},
		{"uussss", [][]int{{0}, {1}, {2, 3, 4, 5}}},
		{"susus", [][]int{{0}, {1}, {2}, {3}, {4}}},
	} {
		var safe []bool
		for _, c := range tc.calls {
			safe = append(safe, c == 's')
		}
		if diff := cmp.Diff(tc.want, Partition(safe)); diff != "" {
			t.Errorf("Partition(%s) (-want +got):\n%s", tc.calls, diff)
		}
	}
}

// span is the time during which a call ran, in fake time.
type span struct{ start, end time.Duration }

// expected computes the schedule of one lane in the simple way: one batch after
// another, each on perLane workers in order of arrival.
func expected(safe []bool, length []time.Duration, perLane int) []span {
	out := make([]span, len(safe))
	var now time.Duration
	for _, batch := range Partition(safe) {
		free := slices.Repeat([]time.Duration{now}, perLane)
		for _, i := range batch {
			w := slices.Index(free, slices.Min(free))
			out[i] = span{free[w], free[w] + length[i]}
			free[w] = out[i].end
			now = max(now, out[i].end)
		}
	}
	return out
}

// TestSchedulerBehavesAsPartition runs random sequences of calls in the
// scheduler under a fake clock. It compares the times with the schedule that
// Partition defines.
func TestSchedulerBehavesAsPartition(t *testing.T) {
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			n, perLane := 1+rnd.IntN(25), 1+rnd.IntN(4)
			safe, length := make([]bool, n), make([]time.Duration, n)
			for i := range n {
				safe[i] = rnd.IntN(10) < 7
				length[i] = time.Duration(1+rnd.IntN(50)) * time.Second
			}
			lane := New(Config{PerLane: perLane, Total: perLane}).NewLane("")
			began := time.Now()
			got := make([]span, n)
			var effects []int
			var wg sync.WaitGroup
			for i := range n {
				ticket := arrive(t, lane)
				wg.Go(func() {
					err := ticket.Run(t.Context(), func(context.Context) (bool, error) { return safe[i], nil }, func(context.Context) func() {
						got[i].start = time.Since(began)
						time.Sleep(length[i])
						got[i].end = time.Since(began)
						return func() { effects = append(effects, i) }
					})
					if err != nil {
						t.Errorf("call %d: %v", i, err)
					}
				})
			}
			wg.Wait()
			if diff := cmp.Diff(expected(safe, length, perLane), got, cmp.AllowUnexported(span{})); diff != "" {
				t.Fatalf("seed %d, %v, %d at once (-want +got):\n%s", seed, safe, perLane, diff)
			}
			if !slices.IsSorted(effects) || len(effects) != n {
				t.Fatalf("seed %d: effects applied in order %v", seed, effects)
			}
		})
	}
}

// TestCancelAndLeave mixes calls that are cancelled at random times, fail in
// decide, panic, or leave without running. The order must hold for those that
// run, and no call may hang.
func TestCancelAndLeave(t *testing.T) {
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 2))
			n := 1 + rnd.IntN(30)
			s := New(Config{PerLane: 3, Total: 4})
			lanes := []*Lane{s.NewLane(""), s.NewLane("")}
			type call struct {
				lane, kind int
				safe, ran  bool
				span
			}
			calls := make([]call, n)
			var wg sync.WaitGroup
			for i := range n {
				c := &calls[i]
				c.lane, c.kind, c.safe = rnd.IntN(2), rnd.IntN(6), rnd.IntN(2) == 0
				length := time.Duration(1+rnd.IntN(20)) * time.Second
				ticket := arrive(t, lanes[c.lane])
				ctx, cancel := context.WithCancel(t.Context())
				if c.kind == 0 {
					// At a moment at which no call starts, not even by another's
					// cancel, so that "after its cancel" has one meaning.
					time.AfterFunc(time.Duration(rnd.IntN(40))*time.Second+time.Second/2+time.Duration(i)*time.Millisecond, cancel)
				}
				if c.kind == 1 {
					cancel()
					time.AfterFunc(time.Duration(rnd.IntN(10))*time.Second, ticket.Leave)
					continue
				}
				wg.Go(func() {
					defer cancel()
					defer func() { _ = recover() }()
					began := time.Now()
					err := ticket.Run(ctx, func(context.Context) (bool, error) {
						if c.kind == 2 {
							return false, errors.New("refused")
						}
						return c.safe, nil
					}, func(context.Context) func() {
						if ctx.Err() != nil {
							t.Errorf("seed %d: call %d started after its cancel", seed, i)
						}
						c.ran, c.start = true, time.Since(began)
						time.Sleep(length)
						c.end = time.Since(began)
						if c.kind == 3 {
							panic("tool")
						}
						return nil
					})
					if (err == nil) != c.ran {
						t.Errorf("seed %d: call %d ran=%v and returned %v", seed, i, c.ran, err)
					}
				})
			}
			wg.Wait()
			time.Sleep(time.Minute) // fake: every timer of a leaving call has fired
			s.mu.Lock()
			defer s.mu.Unlock()
			for i, a := range calls {
				for j, b := range calls[:i] {
					if !a.ran || !b.ran || a.safe && b.safe {
						continue
					}
					overlap := a.start < b.end && b.start < a.end
					switch {
					case a.lane == b.lane && a.start < b.end:
						t.Errorf("seed %d: call %d started at %v, before call %d of its lane ended at %v", seed, i, a.start, j, b.end)
					case !a.safe && !b.safe && overlap:
						t.Errorf("seed %d: unsafe calls %d and %d of two lanes overlap", seed, i, j)
					}
				}
			}
			if s.running != 0 || len(s.unsafe) != 0 || len(s.readyLanes) != 0 {
				t.Errorf("seed %d: the scheduler is not idle at the end: %+v", seed, s)
			}
			for _, l := range lanes {
				if len(l.tickets) != 0 || l.active != 0 || l.turn != nil || l.next != 0 {
					t.Errorf("seed %d: a lane is not empty at the end: %+v", seed, l)
				}
			}
		})
	}
}

// TestLimits checks that both limits are reached and neither is exceeded.
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{PerLane: 2, Total: 3})
		var mu sync.Mutex
		var wg sync.WaitGroup
		now, most := map[*Lane]int{}, map[*Lane]int{} // nil key: all lanes
		for _, l := range []*Lane{s.NewLane(""), s.NewLane("")} {
			for range 10 {
				ticket := arrive(t, l)
				count := func(by int) {
					mu.Lock()
					defer mu.Unlock()
					for _, key := range []*Lane{l, nil} {
						now[key] += by
						most[key] = max(most[key], now[key])
					}
				}
				wg.Go(func() {
					_ = ticket.Run(t.Context(), func(context.Context) (bool, error) { return true, nil }, func(context.Context) func() {
						count(1)
						time.Sleep(time.Second)
						count(-1)
						return nil
					})
				})
			}
		}
		wg.Wait()
		for lane, n := range most {
			if want := map[bool]int{true: 3, false: 2}[lane == nil]; n != want {
				t.Errorf("at most %d ran at once, want %d (all lanes: %v)", n, want, lane == nil)
			}
		}
	})
}

// TestLanesShareSlots checks that a lane with many queued calls delays a single
// call of another lane by at most the length of one call.
func TestLanesShareSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{PerLane: 2, Total: 2})
		safe := func(context.Context) (bool, error) { return true, nil }
		busy, other := s.NewLane(""), s.NewLane("")
		var wg sync.WaitGroup
		for range 1000 {
			ticket := arrive(t, busy)
			wg.Go(func() {
				_ = ticket.Run(t.Context(), safe, func(context.Context) func() { time.Sleep(time.Second); return nil })
			})
		}
		synctest.Wait()
		began := time.Now()
		if err := arrive(t, other).Run(t.Context(), safe, func(context.Context) func() { return nil }); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited > time.Second {
			t.Errorf("the other lane's call waited %v behind 1,000 calls of one second", waited)
		}
		wg.Wait()
	})
}

// TestSafeCallsIgnoreOtherLanesUnsafe checks that a read never waits for a long
// command of another client.
func TestSafeCallsIgnoreOtherLanesUnsafe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{})
		release := make(chan struct{})
		command := arrive(t, s.NewLane(""))
		go func() {
			_ = command.Run(t.Context(), func(context.Context) (bool, error) { return false, nil }, func(context.Context) func() { <-release; return nil })
		}()
		synctest.Wait()
		ran := false
		_ = arrive(t, s.NewLane("")).Run(t.Context(), func(context.Context) (bool, error) { return true, nil }, func(context.Context) func() { ran = true; return nil })
		if !ran {
			t.Error("the read did not run")
		}
		close(release)
	})
}

func TestRunTwiceAndAfterLeave(t *testing.T) {
	lane := New(Config{}).NewLane("")
	ticket := arrive(t, lane)
	yes := func(context.Context) (bool, error) { return true, nil }
	none := func(context.Context) func() { return nil }
	if err := ticket.Run(t.Context(), yes, none); err != nil {
		t.Fatal(err)
	}
	if err := ticket.Run(t.Context(), yes, none); !errors.Is(err, ErrLeft) {
		t.Errorf("a second Run returned %v", err)
	}
	left := arrive(t, lane)
	left.Leave()
	left.Leave()
	if err := left.Run(t.Context(), yes, func(context.Context) func() { t.Error("ran"); return nil }); !errors.Is(err, ErrLeft) {
		t.Errorf("Run after Leave returned %v", err)
	}
}

func arrive(t testing.TB, l *Lane) *Ticket {
	t.Helper()
	ticket, err := l.Arrive()
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}
