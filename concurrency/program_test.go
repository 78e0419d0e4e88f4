package concurrency

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestModel runs random programs over several lanes in the scheduler and in the
// model. Each call must start, end and share as the rules define. Effects must
// be applied in order, the limits must hold at every moment, and nothing may
// remain afterwards.
func TestModel(t *testing.T) {
	for seed := range uint64(seeds) {
		p := random(seed)
		synctest.Test(t, func(t *testing.T) {
			if diff := cmp.Diff(play(p), perform(t, p)); diff != "" {
				t.Fatalf("seed %d: %+v\n(-model +scheduler):\n%s", seed, p, diff)
			}
		})
	}
}

// addWaits adds the waiting times of a call, computed from its times. For an
// unsafe call, all waiting after its decision counts as WaitEarlier.
func addWaits(to *[WaitKinds]time.Duration, r Record) {
	until := func(times ...time.Time) time.Time {
		for _, t := range times {
			if !t.IsZero() {
				return t
			}
		}
		return r.Left
	}
	to[WaitTurn] += until(r.Turn).Sub(r.Arrived)
	if r.Settled.IsZero() {
		return
	}
	if wait := until(r.Started).Sub(r.Settled); r.Safe {
		to[WaitSlot] += wait
	} else {
		to[WaitEarlier] += wait
	}
}

var errBurst = errors.New("burst")

// stage holds the state of a running program.
type stage struct {
	t     *testing.T
	p     program
	began time.Time
	s     *Scheduler
	g     *Group
	lanes []*Lane

	mu sync.Mutex
	result
	observed []Record
}

// perform runs a program in the scheduler.
func perform(t *testing.T, p program) result {
	st := &stage{t: t, p: p, began: time.Now(), result: result{Calls: make([]outcome, len(p.calls)), Memories: make([]memory, len(p.roots))}}
	p.config.Now = time.Now
	p.config.Observe = func(r Record) { st.locked(func() { st.observed = append(st.observed, r) }) }
	st.s = New(p.config)
	st.g = NewGroup(st.s)
	for _, roots := range p.roots {
		st.lanes = append(st.lanes, st.s.NewLane("", roots...))
	}
	var wg sync.WaitGroup
	for i, c := range p.calls {
		time.Sleep(c.arrives - time.Since(st.began))
		st.bounds()
		ticket, err := st.lanes[c.lane].Arrive()
		switch {
		case err != nil:
			st.Calls[i].Full = true
		case c.fate == fateLeaves:
			ticket.Leave()
		default:
			wg.Go(func() { st.call(i, c, ticket) })
		}
		synctest.Wait()
	}
	wg.Wait()
	synctest.Wait()
	st.idle()
	st.stages()
	return st.result
}

func (st *stage) locked(f func()) {
	st.mu.Lock()
	defer st.mu.Unlock()
	f()
}

func (st *stage) call(i int, c plan, ticket *Ticket) {
	ctx, cancel := context.WithCancel(st.t.Context())
	defer cancel()
	if c.cancelled > 0 {
		defer time.AfterFunc(c.cancelled-c.arrives, cancel).Stop()
	}
	kind := "command"
	if c.key != "" {
		kind = "look"
	}
	ticket.Label(kind, "")
	o := &st.Calls[i]
	defer func() {
		if v := recover(); v != nil && c.fate != fatePanics && c.fate != fatePanicsSoon && c.key != "panics" {
			panic(v)
		}
	}()
	err := ticket.Run(ctx, func(context.Context) (bool, error) {
		st.s.mu.Lock()
		o.Saw = st.Memories[c.lane].Dir
		st.s.mu.Unlock()
		time.Sleep(c.decides)
		switch c.fate {
		case fateRefused:
			return false, errors.New("refused")
		case fatePanicsSoon:
			panic("decide")
		}
		return c.safe, nil
	}, func(ctx context.Context) func() {
		o.Ran, o.Start = true, time.Since(st.began)
		// The cause of a burst remains even if the call was cancelled too.
		defer func() {
			o.End = time.Since(st.began)
			o.Burst = errors.Is(context.Cause(ctx), errBurst)
		}()
		time.Sleep(c.leads)
		st.bounds()
		st.work(ctx, o, c, ticket)
		if c.fate == fatePanics {
			panic("exec")
		}
		if c.fate == fateFails {
			ticket.CancelBurst(func(kind string) bool { return kind == "command" }, errBurst)
			time.Sleep(c.tail) // see the model
		}
		return func() {
			st.Effects = append(st.Effects, i)
			st.Memories[c.lane].apply(i, c.safe)
		}
	})
	if errors.Is(err, errBurst) {
		o.Burst = true
	}
	if (err == nil) != o.Ran && c.fate != fatePanics {
		st.t.Errorf("call %d ran=%v and returned %v", i, o.Ran, err)
	}
}

// work runs the part that can be cancelled or shared, and then the tail.
func (st *stage) work(ctx context.Context, o *outcome, c plan, ticket *Ticket) {
	body := func(ctx context.Context) (any, error) {
		select {
		case <-ctx.Done():
		case <-time.After(c.length):
			if c.key == "panics" {
				panic("shared")
			}
		}
		return c.key, ctx.Err()
	}
	defer time.Sleep(c.tail)
	if c.key == "" {
		_, _ = body(ctx)
		return
	}
	defer func() { o.Shared = ticket.shared }() // Do may panic
	v, _, err := st.g.Do(ctx, ticket, c.key, func(ctx context.Context) (any, error) {
		st.locked(func() { st.Flights++ })
		return body(ctx)
	})
	if err == nil && v != c.key {
		st.t.Errorf("the result of %s is %v", c.key, v)
	}
	if err != nil && ctx.Err() == nil {
		st.t.Errorf("a call nobody cancelled has the error %v", err)
	}
}

// bounds checks the invariants that hold at every moment.
func (st *stage) bounds() {
	s := st.s
	s.mu.Lock()
	defer s.mu.Unlock()
	total := 0
	for _, l := range st.lanes {
		slots, passed := 0, 0
		for _, t := range l.tickets {
			slots += t.slots
			if t.slots > 0 && t.shared {
				passed++ // it continues the work of a cancelled call
			}
			if t.slots > 0 && (t.state != running || !t.safe) {
				st.t.Errorf("a call that does not run holds a slot")
			}
		}
		if slots != l.running || slots-passed > st.p.config.PerLane {
			st.t.Errorf("a lane has %d slots, counts %d, and may have %d", slots, l.running, st.p.config.PerLane)
		}
		total += slots
	}
	if total != s.running || total > st.p.config.Total {
		st.t.Errorf("%d slots are held, %d counted, and %d there", total, s.running, st.p.config.Total)
	}
	for i, a := range s.unsafe {
		for _, b := range s.unsafe[:i] {
			if a.state == running && b.state == running && related(a.lane.below(), b.lane.below()) {
				st.t.Errorf("two unsafe calls run on overlapping roots")
			}
		}
	}
}

// stages checks the reports to the observer: the stages of each call, in order, from its
// arrival until it left, and its outcome.
func (st *stage) stages() {
	of := map[uint64][]Record{}
	for _, r := range st.observed {
		if r.Stage != StageFull {
			of[r.Number] = append(of[r.Number], r)
		}
	}
	var ended result
	for number, told := range of {
		var got []Stage
		for _, r := range told {
			got = append(got, r.Stage)
		}
		last := told[len(told)-1]
		want := []Stage{StageArrived}
		for stage, at := range map[Stage]time.Time{StageTurn: last.Turn, StageSettled: last.Settled, StageStarted: last.Started} {
			if !at.IsZero() {
				want = append(want, stage)
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(append(want, StageLeft), got); diff != "" {
			st.t.Errorf("stages of call %d (-want +got):\n%s", number, diff)
		}
		switch {
		case !last.Cancelled:
		case last.Ran:
			ended.Cancelled.Running++
		case !last.Turn.IsZero() && last.Settled.IsZero():
			ended.Cancelled.Deciding++
		default:
			ended.Cancelled.Waiting++
		}
	}
	if diff := cmp.Diff(st.Cancelled, ended.Cancelled); diff != "" {
		st.t.Errorf("calls cancelled (-counted +observed):\n%s", diff)
	}
}

// idle checks that nothing is left and that all counts agree.
func (st *stage) idle() {
	stats, live := st.s.Snapshot()
	var want Stats
	for _, o := range st.Calls {
		if o.Full {
			want.Full++
			continue
		}
		want.Arrived++
		if o.Ran {
			want.Ran++
		}
		if o.Shared {
			want.Shared++
		}
	}
	batched := uint64(0)
	for _, n := range stats.Batches {
		batched += n
	}
	if batched > want.Arrived || want.Ran > 0 && batched == 0 {
		st.t.Errorf("%d calls in %d batches", want.Arrived, batched)
	}
	st.Cancelled = stats.Cancelled // the model has them too
	want.Cancelled, want.Batches, want.Waited = stats.Cancelled, stats.Batches, stats.Waited
	if diff := cmp.Diff(want, stats); diff != "" {
		st.t.Errorf("counts (-want +got):\n%s", diff)
	}
	left, full := 0, 0
	var waited [WaitKinds]time.Duration
	for _, r := range st.observed {
		switch r.Stage {
		case StageLeft:
			left++
			addWaits(&waited, r)
		case StageFull:
			full++
		}
	}
	if len(live) != 0 || left != int(want.Arrived) || full != int(want.Full) {
		st.t.Errorf("%d lanes live, %d calls observed of %d, and %d refused of %d", len(live), left, want.Arrived, full, want.Full)
	}
	// A call's times show neither what an unsafe call waits for, nor waiting
	// after a yield, which no call here does.
	unsafe := waited[WaitEarlier]
	if waited[WaitEarlier], waited[WaitClients] = stats.Waited[WaitEarlier], unsafe-stats.Waited[WaitEarlier]; waited != stats.Waited {
		st.t.Errorf("calls waited %v, counted %v", waited, stats.Waited)
	}
	if left := st.s.left(st.lanes); left != "" {
		st.t.Errorf("left behind: %s", left)
	}
	if len(st.g.flights) != 0 {
		st.t.Errorf("%d flights left", len(st.g.flights))
	}
}

// left describes everything that a scheduler still holds but should not when idle; "" if
// nothing.
func (s *Scheduler) left(lanes []*Lane) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls != 0 || s.running != 0 || len(s.unsafe)+len(s.readyLanes)+len(s.lanes) != 0 {
		return fmt.Sprintf("%+v", s)
	}
	for _, l := range lanes {
		if len(l.tickets)+len(l.ready)+l.next+l.active+l.running+l.calls+l.batch != 0 || l.turn != nil || l.queued {
			return fmt.Sprintf("%+v", l)
		}
	}
	return ""
}
