package metrics

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/concurrency"
)

// TestFigures checks both forms of the figures, for one lane with a command and
// a call after it, and many other lanes.
func TestFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := concurrency.New(concurrency.Config{Now: time.Now, Queue: 2, PerLane: 1})
		source := &Source{Scheduler: s, Repeats: func() uint64 { return 7 }, Now: time.Now}
		ctx := t.Context()
		start := func(l *concurrency.Lane, kind, title string, safe bool) {
			ticket, err := l.Arrive()
			if err != nil {
				return
			}
			ticket.Label(kind, title)
			go func() {
				_ = ticket.Run(ctx, func(context.Context) (bool, error) { return safe, nil },
					func(context.Context) func() { time.Sleep(time.Minute); return nil })
			}()
			synctest.Wait()
		}
		lane := s.NewLane("stdio-1")
		start(lane, "Bash", "make\nall", false)
		start(lane, "Read", "Read a", true)
		start(lane, "Read", "Read b", true) // refused
		for i := range 12 {
			start(s.NewLane(fmt.Sprintf("http-%d", i), fmt.Sprintf("/%d", i)), "Read", "Read c", true)
		}
		time.Sleep(1500 * time.Millisecond)
		live := source.Live()
		for _, want := range []string{
			"calls: 13 running, 0 being decided on, 1 queued; since the start 14 arrived, 0 ran, 0 were cancelled (0 waiting, 0 being decided on, 0 running), 0 had the result of another, 1 were refused because too many waited\n",
			"repeated reads answered in short: 7\nbatches by number of calls: 1: 1 2: 0 3-4: 0 5-8: 0 9-16: 0 17-32: 0 33+: 0\nwaited in all: for their turn: 1.5s (1 now), for earlier calls: 0s (0 now), for other clients: 0s (0 now), for a slot: 0s (0 now)\nlane",
			"lane stdio-1 (1): 1 queued, the first waits for an earlier call: make all (1.5s)\n  Bash runs for 1.5s: make all\nlane http-0 (2): 0 queued\n  Read runs for 1.5s: Read c\n",
		} {
			if !strings.Contains(strings.ReplaceAll(live, `\n`, " "), want) {
				t.Errorf("the live view lacks %q:\n%s", want, live)
			}
		}
		time.Sleep(5 * time.Minute)
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(t.Context())
		start(lane, "Bash", "cancelled while it runs", false)
		cancel()
		start(lane, "Bash", "cancelled before", false)
		time.Sleep(5 * time.Minute)
		ctx = t.Context()
		start(lane, "Bash", "sleep", false)
		start(lane, "Bash", "sleep", false)
		time.Sleep(time.Second)
		start(s.NewLane("other"), "Bash", "sleep", false)
		time.Sleep(time.Second)
		slots, mixed := s.NewLane("slots"), s.NewLane("mixed")
		for i := range 2 {
			start(slots, "Read", "Read d", true)
			start(mixed, "Read", "Read e", i == 0)
		}
		time.Sleep(10 * time.Second)
		w := httptest.NewRecorder()
		source.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		var got []string
		for line := range strings.Lines(w.Body.String()) {
			if !strings.HasPrefix(line, "#") {
				got = append(got, strings.TrimPrefix(strings.TrimSpace(line), "mcp_toolset_"))
			}
		}
		want := []string{
			"calls_arrived_total 23", "calls_ran_total 15", `calls_cancelled_total{while="waiting"} 1`,
			`calls_cancelled_total{while="deciding"} 0`, `calls_cancelled_total{while="running"} 1`,
			"calls_shared_total 0", "calls_refused_total 1", "reads_repeated_total 7",
			`batches_total{size="1"} 19`, `batches_total{size="2"} 0`, `batches_total{size="3-4"} 0`, `batches_total{size="5-8"} 0`,
			`batches_total{size="9-16"} 0`, `batches_total{size="17-32"} 0`, `batches_total{size="33+"} 0`,
			"calls_running 3", "calls_deciding 0", "calls_queued 4", "lanes 4",
			`lane_queued{rank="1"} 1`, `lane_queued{rank="2"} 1`, `lane_queued{rank="3"} 1`, `lane_queued{rank="4"} 1`,
			`calls_waiting{for="turn"} 1`, `calls_waiting{for="earlier"} 1`, `calls_waiting{for="clients"} 1`, `calls_waiting{for="slot"} 1`,
			`calls_waited_seconds_total{for="turn"} 72`, `calls_waited_seconds_total{for="earlier"} 10`,
			`calls_waited_seconds_total{for="clients"} 11`, `calls_waited_seconds_total{for="slot"} 10`,
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		time.Sleep(5 * time.Minute)
	})
}

// TestLanesAreBounded checks that the number of series is limited, whatever the
// number of clients.
func TestLanesAreBounded(t *testing.T) {
	var lanes []concurrency.Live
	for i := range 1000 {
		lanes = append(lanes, concurrency.Live{Queued: i})
	}
	if got := sum(lanes); len(got.queues) != maxLanes || got.queues[0] != 999 || got.queued != 999*500 {
		t.Errorf("%+v", got)
	}
}
