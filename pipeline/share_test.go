package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/concurrency"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// crowd is a pipeline with several sessions whose calls take a second of fake time.
type crowd struct {
	*bench
	scheduler *concurrency.Scheduler
	sessions  []*session.Session
	lanes     []*concurrency.Lane
	logger    *slog.Logger // a single one, because it locks

	mu   sync.Mutex
	runs int
	most int // maximum number at once
	now  int
}

func (c *crowd) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now += n; n > 0 {
		c.runs++
	}
	c.most = max(c.most, c.now)
}

func newCrowd(t *testing.T, config concurrency.Config) *crowd {
	t.Helper()
	c := &crowd{bench: newBench(t, ""), scheduler: concurrency.New(config)}
	c.Shared = concurrency.NewGroup(c.scheduler)
	c.logger = slog.New(slog.NewTextHandler(&c.log, nil))
	work := func(change func(*tools.Def[doIn, doIn, doOut])) func(*tools.Def[doIn, doIn, doOut]) {
		return func(d *tools.Def[doIn, doIn, doOut]) {
			d.IsReadOnly, d.IsConcurrencySafe, d.Shared = tools.Always[doIn](), tools.Always[doIn](), tools.Always[doIn]()
			d.Description = func(in doIn) string { return strings.TrimSpace(in.Do + " " + in.Arg) }
			d.Call = func(ctx context.Context, env *tools.Env, in doIn) (r tools.Result[doOut], err error) {
				c.count(1)
				defer c.count(-1)
				if in.Do == "parts" {
					parts := []string{"part"}
					next := func() (part string, err error) {
						if len(parts) == 0 {
							return "", io.EOF
						}
						part, parts = parts[0], nil
						return part, nil
					}
					if _, _, err := env.Results.SaveParts("f", "n", next); err != nil {
						return r, err
					}
				}
				length := time.Second
				if in.Do == "long" {
					length = time.Minute
				}
				select {
				case <-time.After(length):
				case <-ctx.Done():
					return r, context.Cause(ctx)
				}
				r.Data.Said = env.Session.ID + " said " + in.Arg
				r.Effect.Loaded = []string{in.Arg}
				r.Failed = in.Do == "nonzero"
				return r, nil
			}
			if change != nil {
				change(d)
			}
		}
	}
	registry, err := tools.NewRegistry([]*tools.Tool{
		doer("Find", work(nil)),
		doer("Mine", work(func(d *tools.Def[doIn, doIn, doOut]) { d.Shared = tools.Annotation[doIn]{} })),
		doer("Finish", work(func(d *tools.Def[doIn, doIn, doOut]) { d.Interrupt = tools.Finish })),
		doer("Command", work(func(d *tools.Def[doIn, doIn, doOut]) {
			d.Cascades, d.Shared, d.IsConcurrencySafe = true, tools.Annotation[doIn]{}, tools.Annotation[doIn]{}
		})),
		doer("Look", work(func(d *tools.Def[doIn, doIn, doOut]) { d.Cascades, d.Shared = true, tools.Annotation[doIn]{} })),
		doer("Change", work(func(d *tools.Def[doIn, doIn, doOut]) { d.IsConcurrencySafe = tools.Annotation[doIn]{} })),
	}, tools.Gates{})
	if err != nil {
		t.Fatal(err)
	}
	c.Registry = registry
	for i := range 5 {
		id := fmt.Sprint(i + 1)
		c.sessions = append(c.sessions, session.New(session.Config{ID: id, Principal: "p", Roots: c.Roots.Paths(), Results: c.Results.Hold(id)}))
		c.lanes = append(c.lanes, c.scheduler.NewLane(id, c.Roots.Paths()...))
	}
	return c
}

// said holds the answer to a call. It is set when all calls have ended.
type said struct{ text string }

// start sends a call of a session.
func (c *crowd) start(t *testing.T, wg *sync.WaitGroup, session int, tool, do, arg string, progress func(tools.Progress)) *said {
	t.Helper()
	s := &said{}
	ticket, err := c.lanes[session].Arrive()
	if err != nil {
		t.Fatal(err)
	}
	args, _ := json.Marshal(doIn{Do: do, Arg: arg})
	r := c.request("Find", string(args))
	r.Ticket.Leave()
	r.Tool, r.Session, r.Ticket, r.Progress, r.Log = tool, c.sessions[session], ticket, progress, c.logger
	wg.Go(func() {
		resp, err := c.Run(t.Context(), r)
		if err != nil {
			t.Error(err)
			return
		}
		s.text = joinText(resp.Content)
		if resp.Failed {
			s.text = "failed: " + s.text
		}
		resp.Content[0] = tools.Text{Text: "changed by another"} // results are not shared
	})
	return s
}

// TestSharing checks which calls share an execution, and that each session has
// its own effects.
func TestSharing(t *testing.T) {
	for _, tc := range []struct {
		name, tool, do string
		runs           int
		said           []string // by the first, by the second of session 1, by session 2
	}{
		{"the same for all", "Find", "x", 1, []string{"1 said y", "1 said y", "1 said y"}},
		{"bound to the session", "Mine", "x", 3, []string{"1 said y", "1 said y", "2 said y"}},
		{"stored for the session", "Find", "parts", 2, []string{"1 said y", "1 said y", "2 said y"}},
		{"not to be interrupted", "Finish", "x", 3, []string{"1 said y", "1 said y", "2 said y"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t, concurrency.Config{})
			var wg sync.WaitGroup
			var answers []*said
			for _, session := range []int{0, 0, 1} {
				answers = append(answers, c.start(t, &wg, session, tc.tool, tc.do, "y", nil))
				synctest.Wait()
			}
			wg.Wait()
			var got []string
			for _, a := range answers {
				got = append(got, a.text)
			}
			if diff := cmp.Diff(tc.said, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.name, diff)
			}
			if c.runs != tc.runs {
				t.Errorf("%s: %d executions, want %d", tc.name, c.runs, tc.runs)
			}
			for i, s := range c.sessions[:2] {
				if !s.View().Loaded("y") {
					t.Errorf("%s: session %d has no effect", tc.name, i+1)
				}
			}
			if c.sessions[2].View().Loaded("y") {
				t.Errorf("%s: a session that called nothing has an effect", tc.name)
			}
		})
	}
}

// TestPrivateResultsTakeSlots checks that calls that cannot use the result they
// waited for run like any other, within the limits.
func TestPrivateResultsTakeSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, concurrency.Config{PerLane: 1, Total: 2})
		var wg sync.WaitGroup
		for session := range 5 {
			c.start(t, &wg, session, "Find", "parts", "y", nil)
			synctest.Wait()
		}
		wg.Wait()
		if c.runs != 5 || c.most != 2 {
			t.Errorf("%d executions, up to %d at once where 2 may run", c.runs, c.most)
		}
	})
}

// TestSharedPanicAnswers checks that a panic of a shared execution is a failure
// of each call and ends no other.
func TestSharedPanicAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, concurrency.Config{})
		registry, err := tools.NewRegistry([]*tools.Tool{doer("Find", func(d *tools.Def[doIn, doIn, doOut]) {
			d.IsReadOnly, d.IsConcurrencySafe, d.Shared = tools.Always[doIn](), tools.Always[doIn](), tools.Always[doIn]()
			d.Call = func(context.Context, *tools.Env, doIn) (tools.Result[doOut], error) {
				time.Sleep(time.Second)
				panic("boom")
			}
		})}, tools.Gates{})
		if err != nil {
			t.Fatal(err)
		}
		c.Registry = registry
		var wg sync.WaitGroup
		a, b := c.start(t, &wg, 0, "Find", "x", "", nil), c.start(t, &wg, 1, "Find", "x", "", nil)
		wg.Wait()
		want := "failed: Find: failed: the tool stopped on an internal error. Try another way; the server's log has the details."
		if a.text != want || b.text != want || strings.Count(c.log.String(), "boom") != 2 || !strings.Contains(c.log.String(), "share_test.go") {
			t.Errorf("%q, %q; the log:\n%s", a.text, b.text, &c.log)
		}
	})
}

// TestCascade checks which calls of its burst a failed command cancels.
func TestCascade(t *testing.T) {
	const cancelled = "an earlier command of this batch failed: nonzero a. Look at what failed, then send this call again if it still makes sense."
	failed, ran := "failed: 1 said a", "1 said b"
	for _, tc := range []struct {
		name    string
		cascade Cascade
		tools   []string // the first fails
		want    []string
	}{
		{"commands", CascadeCommands, []string{"Command", "Find", "Command", "Look", "Change"}, []string{failed, ran, "failed: Command: cancelled: " + cancelled, "failed: Look: cancelled: " + cancelled, ran}},
		{"beside it", CascadeCommands, []string{"Look", "Look", "Find", "Command"}, []string{failed, "failed: Look: cancelled: " + cancelled, ran, "failed: Command: cancelled: " + cancelled}},
		{"all", CascadeAll, []string{"Command", "Find", "Command"}, []string{failed, "failed: Find: cancelled: " + cancelled, "failed: Command: cancelled: " + cancelled}},
		{"all, beside it", CascadeAll, []string{"Look", "Find"}, []string{failed, "failed: Find: cancelled: " + cancelled}},
		{"off", CascadeOff, []string{"Command", "Look", "Command"}, []string{failed, ran, ran}},
		{"only commands fail others", CascadeAll, []string{"Change", "Find", "Command"}, []string{failed, ran, ran}},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t, concurrency.Config{})
			c.Cascade = tc.cascade
			var wg sync.WaitGroup
			var answers []*said
			for i, tool := range tc.tools {
				do, arg := "long", "b"
				if i == 0 {
					do, arg = "nonzero", "a"
				}
				answers = append(answers, c.start(t, &wg, 0, tool, do, arg, nil))
			}
			other := c.start(t, &wg, 1, "Look", "long", "b", nil)
			wg.Wait()
			late := c.start(t, &wg, 0, "Command", "x", "b", nil)
			wg.Wait()
			var got []string
			for _, a := range answers {
				got = append(got, a.text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.name, diff)
			}
			if other.text != "2 said b" || late.text != ran {
				t.Errorf("%s: another client's call says %q, one of a later burst %q", tc.name, other.text, late.text)
			}
		})
	}
}

// TestWaitingProgress checks that a client that wants progress learns what its
// call waits for, after a delay and then repeatedly, until the call runs.
func TestWaitingProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, concurrency.Config{})
		c.Now = time.Now
		began := time.Now()
		var wg sync.WaitGroup
		var mu sync.Mutex
		var heard []string
		c.start(t, &wg, 0, "Command", "long", "a\nb", nil)
		synctest.Wait()
		c.start(t, &wg, 0, "Find", "x", "", func(p tools.Progress) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, fmt.Sprintf("%v: %v %s", time.Since(began), p.Done, p.Message))
		})
		c.start(t, &wg, 0, "Find", "x", "", nil)
		wg.Wait()
		mu.Lock()
		defer mu.Unlock()
		want := []string{"2s: 2 waits for an earlier call: long a\\nb"}
		for s := 12; s < 60; s += 10 {
			want = append(want, fmt.Sprintf("%ds: %d waits for an earlier call: long a\\nb", s, s))
		}
		want = append(want, "1m0.5s: 52.001 x") // it runs
		if diff := cmp.Diff(want, heard); diff != "" {
			t.Errorf("progress (-want +got):\n%s", diff)
		}
	})
}
