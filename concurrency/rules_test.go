package concurrency

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestOverlap checks that lanes overlap if a folder of one is inside a folder
// of the other.
func TestOverlap(t *testing.T) {
	for _, tc := range []struct {
		a, b []string
		want bool
	}{
		{nil, []string{"/a"}, true},
		{[]string{"/a"}, []string{"/a"}, true},
		{[]string{"/a"}, []string{"/a/b"}, true},
		{[]string{"/a/b"}, []string{"/c", "/a"}, true},
		{[]string{"/"}, []string{"/a"}, true},
		{[]string{"/a"}, []string{"/ab"}, false},
		{[]string{"/a/b", "/c"}, []string{"/a/c", "/d"}, false},
	} {
		if overlap(tc.a, tc.b) != tc.want || overlap(tc.b, tc.a) != tc.want {
			t.Errorf("overlap(%v, %v) is not %v", tc.a, tc.b, tc.want)
		}
	}
}

// TestUnsafeAcrossLanes checks that unsafe calls with overlapping roots run one
// after another, in the order of reaching the head of their lanes, and those
// with disjoint roots together.
func TestUnsafeAcrossLanes(t *testing.T) {
	withRig(t, Config{}, func(t *testing.T, r *rig) {
		began := time.Now()
		var order []string
		var at []time.Duration
		for _, l := range []*Lane{r.s.NewLane("one", "/a"), r.s.NewLane("far", "/b"), r.s.NewLane("below", "/a/x"), r.s.NewLane("all")} {
			r.goCall(t.Context(), l, false, func(context.Context, *Ticket) {
				order, at = append(order, l.name), append(at, time.Since(began))
				time.Sleep(time.Second)
			})
		}
		r.wg.Wait()
		if diff := cmp.Diff([]string{"one", "far", "below", "all"}, order); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]time.Duration{0, 0, time.Second, 2 * time.Second}, at); diff != "" {
			t.Error(diff)
		}
	})
}

// TestFull checks that a call refused for lack of room takes no place, and that
// there is room again when a call has left.
func TestFull(t *testing.T) {
	s := New(Config{Queue: 2, QueueTotal: 3})
	a, b := s.NewLane(""), s.NewLane("")
	first := arrive(t, a)
	arrive(t, a)
	if _, err := a.Arrive(); !errors.Is(err, ErrFull) {
		t.Errorf("the lane's bound: %v", err)
	}
	arrive(t, b)
	if _, err := b.Arrive(); !errors.Is(err, ErrFull) {
		t.Errorf("the bound of all: %v", err)
	}
	first.Leave()
	arrive(t, b)
	if stats, _ := s.Snapshot(); stats.Full != 2 || stats.Arrived != 4 {
		t.Errorf("counts: %+v", stats)
	}
}

// TestMemory checks that calls that come and go after a long call leave nothing
// behind, or are refused if too many effects wait for it.
func TestMemory(t *testing.T) {
	for name, long := range map[string]bool{"safe": true, "unsafe": false} {
		t.Run(name, func(t *testing.T) {
			withRig(t, Config{PerLane: 1, Total: 1, Queue: 10}, func(t *testing.T, r *rig) {
				l := r.s.NewLane("")
				r.goCall(t.Context(), l, long, func(context.Context, *Ticket) { time.Sleep(time.Hour) })
				for range 100 {
					ctx, cancel := context.WithCancel(t.Context())
					r.goCall(ctx, l, true, pause)
					cancel()
					synctest.Wait()
				}
				r.s.mu.Lock()
				defer r.s.mu.Unlock()
				if n := len(l.tickets) + len(l.ready) + len(r.s.readyLanes); n > 2 {
					t.Errorf("%d things are kept of calls that have left", n)
				}
			})
		})
	}
	withRig(t, Config{Queue: 10}, func(t *testing.T, r *rig) {
		l := r.s.NewLane("")
		r.goCall(t.Context(), l, true, func(context.Context, *Ticket) { time.Sleep(time.Hour) })
		yes := func(context.Context) (bool, error) { return true, nil }
		applied := 0
		effect := func(context.Context) func() { return func() { applied++ } }
		for range 99 {
			if err := arrive(t, l).Run(t.Context(), yes, effect); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.Arrive(); !errors.Is(err, ErrFull) {
			t.Errorf("with 99 effects that wait: %v", err)
		}
		r.wg.Wait()
		if applied != 99 {
			t.Errorf("%d effects applied in the end", applied)
		}
	})
}

// TestLeaveOfARunningCall checks that Leave does nothing to a running call.
func TestLeaveOfARunningCall(t *testing.T) {
	withRig(t, Config{}, func(t *testing.T, r *rig) {
		l := r.s.NewLane("")
		began := time.Now()
		r.goCall(t.Context(), l, false, func(_ context.Context, ticket *Ticket) {
			ticket.Leave()
			time.Sleep(time.Second)
		})
		r.goCall(t.Context(), l, true, func(context.Context, *Ticket) {
			if time.Since(began) != time.Second {
				t.Error("a call behind it ran beside it")
			}
		})
	})
}

// TestBurstBeforeRun checks that a cancelled burst also concerns calls that
// have only a place yet, by the kind they get later.
func TestBurstBeforeRun(t *testing.T) {
	for _, labelled := range []bool{true, false} {
		l := New(Config{}).NewLane("")
		failing, concerned, other := arrive(t, l), arrive(t, l), arrive(t, l)
		label := func() {
			concerned.Label("command", "")
			other.Label("look", "")
		}
		if labelled {
			label()
		}
		no := func(context.Context) (bool, error) { return false, nil }
		_ = failing.Run(t.Context(), no, func(context.Context) func() {
			failing.CancelBurst(func(kind string) bool { return kind == "command" }, errBurst)
			return nil
		})
		if !labelled {
			label()
		}
		none := func(context.Context) func() { return nil }
		if err := concerned.Run(t.Context(), no, none); !errors.Is(err, errBurst) {
			t.Errorf("labelled before: %v: a call the burst concerns: %v", labelled, err)
		}
		if err := other.Run(t.Context(), no, none); err != nil {
			t.Errorf("labelled before: %v: a call it does not: %v", labelled, err)
		}
	}
}

// TestBurstLosesItsPlace checks that a lane whose waiting calls are cancelled
// leaves the queue for slots.
func TestBurstLosesItsPlace(t *testing.T) {
	withRig(t, Config{PerLane: 2, Total: 1}, func(t *testing.T, r *rig) {
		a, b := r.s.NewLane("a"), r.s.NewLane("b")
		r.goCall(t.Context(), a, true, func(_ context.Context, ticket *Ticket) {
			time.Sleep(time.Second)
			ticket.CancelBurst(func(string) bool { return true }, errBurst)
			r.s.mu.Lock()
			defer r.s.mu.Unlock()
			if diff := cmp.Diff([]string{"b"}, names(r.s.readyLanes)); diff != "" {
				t.Errorf("lanes in line (-want +got):\n%s", diff)
			}
		})
		r.goCall(t.Context(), a, true, pause)
		r.goCall(t.Context(), b, true, pause)
		r.s.mu.Lock()
		if diff := cmp.Diff([]string{"a", "b"}, names(r.s.readyLanes)); diff != "" {
			t.Errorf("lanes in line before (-want +got):\n%s", diff)
		}
		r.s.mu.Unlock()
	})
}

func names(lanes []*Lane) (out []string) {
	for _, l := range lanes {
		out = append(out, l.name)
	}
	return out
}

// TestWaits checks the reasons reported for waiting calls, and the snapshot.
func TestWaits(t *testing.T) {
	withRig(t, Config{PerLane: 1, Total: 1}, func(t *testing.T, r *rig) {
		a, b := r.s.NewLane("a"), r.s.NewLane("b")
		busy := r.goCall(t.Context(), a, true, pause)
		slot := r.goCall(t.Context(), a, true, pause)
		command := r.goCall(t.Context(), a, false, pause)
		behind := r.goCall(t.Context(), a, true, pause)
		for ticket, want := range map[*Ticket]string{
			busy: "", slot: "a slot: as many calls run as may at once",
			command: "an earlier call: call 1", behind: "an earlier call: call 3",
		} {
			if got := ticket.WaitsFor(); got != want {
				t.Errorf("call %d waits for %q, want %q", ticket.number, got, want)
			}
		}
		_, live := r.s.Snapshot()
		if len(live) != 1 || live[0].Lane != "a" || live[0].Queued != 3 || len(live[0].Running) != 1 ||
			live[0].Waits != "a slot: as many calls run as may at once" {
			t.Errorf("the live view: %+v", live)
		}
		time.Sleep(2500 * time.Millisecond) // the command runs
		other, third := r.goCall(t.Context(), b, false, pause), r.goCall(t.Context(), r.s.NewLane("c"), false, pause)
		if got := other.WaitsFor(); got != "a call of another client: call" {
			t.Errorf("the other client's call waits for %q", got)
		}
		if _, live := r.s.Snapshot(); len(live) != 3 || live[1].Lane != "b" || live[2].Queued != 1 {
			t.Errorf("the live view of three lanes: %+v", live)
		}
		if got := third.WaitsFor(); got != "a call of another client: call" {
			t.Errorf("the third client's call waits for %q", got)
		}
	})
}

// TestBatchSizes checks that a maximal run of safe calls counts as one batch.
func TestBatchSizes(t *testing.T) {
	withRig(t, Config{}, func(t *testing.T, r *rig) {
		l := r.s.NewLane("")
		for _, safe := range []bool{true, true, true, false, true, false, false} {
			r.goCall(t.Context(), l, safe, pause)
		}
		r.wg.Wait()
		stats, _ := r.s.Snapshot()
		if diff := cmp.Diff([7]uint64{0: 4, 2: 1}, stats.Batches); diff != "" {
			t.Errorf("batches by size (-want +got):\n%s", diff)
		}
	})
}

// TestCosts checks a limit far above the normal cost of a call, to detect
// accidents.
func TestCosts(t *testing.T) {
	s := New(Config{Queue: 100_000, QueueTotal: 100_000})
	l := s.NewLane("")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10_000 {
		arrive(t, l)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / 10_000; each > 2000 {
		t.Errorf("a queued call takes %d bytes", each)
	}
}
