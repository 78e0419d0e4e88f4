// Package metrics exports the figures of the scheduler: in the text format of
// Prometheus, and as a live view for users.
package metrics

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/text/plain"
)

// Source provides the figures.
type Source struct {
	Scheduler *concurrency.Scheduler
	Repeats   func() uint64 // number of repeated reads with a short answer
	Now       func() time.Time
	// Servers returns the memory of the language servers that run by their names, in bytes. nil:
	// there are none.
	Servers func() map[string]int64
}

// maxLanes is the number of lanes shown individually, those with the longest
// queues. Clients come and go, and a series for each would be stored for ever.
const maxLanes = 10

// sizes labels the counters of concurrency.Stats.Batches.
var sizes = [...]string{"1", "2", "3-4", "5-8", "9-16", "17-32", "33+"}

// waits names the kinds of waiting, for programs and for users.
var waits = [concurrency.WaitKinds]struct{ label, text string }{
	concurrency.WaitTurn:    {"turn", "their turn"},
	concurrency.WaitEarlier: {"earlier", "earlier calls"},
	concurrency.WaitClients: {"clients", "other clients"},
	concurrency.WaitSlot:    {"slot", "a slot"},
}

// totals holds the present numbers of calls in all lanes.
type totals struct {
	running, deciding, queued int
	waiting                   [concurrency.WaitKinds]int
	queues                    []int // lengths of the lanes' queues, longest first, at most maxLanes
}

func sum(lanes []concurrency.Live) (t totals) {
	for _, l := range lanes {
		for _, r := range l.Running {
			if r.Ran {
				t.running++
			} else {
				t.deciding++
			}
		}
		t.queued += l.Queued
		for i, n := range l.Waiting {
			t.waiting[i] += n
		}
		t.queues = append(t.queues, l.Queued)
	}
	slices.SortFunc(t.queues, func(a, b int) int { return b - a })
	t.queues = t.queues[:min(len(t.queues), maxLanes)]
	return t
}

// Handler serves the figures in the text format of Prometheus.
func (s *Source) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = s.collect().WriteTo(w)
	})
}

// exposition is text in the format of Prometheus, version 0.0.4.
type exposition struct{ bytes.Buffer }

// family writes the header of a metric. It returns a function that adds a
// series with at most one label, as name and value. The label value is written
// with Go quoting, so it must not need any escaping.
func (e *exposition) family(kind, name, help string) func(value float64, labels ...string) {
	name = "mcp_toolset_" + name
	fmt.Fprintf(e, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	return func(value float64, labels ...string) {
		e.WriteString(name)
		if len(labels) > 0 {
			fmt.Fprintf(e, "{%s=%q}", labels[0], labels[1])
		}
		e.WriteString(" " + strconv.FormatFloat(value, 'f', -1, 64) + "\n")
	}
}

func (e *exposition) counter(name, help string) func(float64, ...string) {
	return e.family("counter", name, help)
}

func (e *exposition) gauge(name, help string) func(float64, ...string) {
	return e.family("gauge", name, help)
}

// collect returns the present figures.
func (s *Source) collect() *exposition {
	stats, lanes := s.Scheduler.Snapshot()
	now := sum(lanes)
	e := &exposition{}
	e.counter("calls_arrived_total", "Calls that took a place.")(float64(stats.Arrived))
	e.counter("calls_ran_total", "Calls that ran and have ended.")(float64(stats.Ran))
	cancelled := e.counter("calls_cancelled_total", "Calls cancelled, by what they did then.")
	cancelled(float64(stats.Cancelled.Waiting), "while", "waiting")
	cancelled(float64(stats.Cancelled.Deciding), "while", "deciding")
	cancelled(float64(stats.Cancelled.Running), "while", "running")
	e.counter("calls_shared_total", "Calls that had the result of another one.")(float64(stats.Shared))
	e.counter("calls_refused_total", "Calls refused because too many waited; calls that the policy refuses are not counted.")(float64(stats.Full))
	e.counter("reads_repeated_total", "Repeated reads answered in short.")(float64(s.Repeats()))
	batches := e.counter("batches_total", "Batches of calls that may run together, by their number of calls.")
	for i, n := range stats.Batches {
		batches(float64(n), "size", sizes[i])
	}
	e.gauge("calls_running", "Calls that run.")(float64(now.running))
	e.gauge("calls_deciding", "Calls that are being decided on.")(float64(now.deciding))
	e.gauge("calls_queued", "Calls that wait.")(float64(now.queued))
	waiting := e.gauge("calls_waiting", "Calls that wait, by what for: their turn, earlier calls of their lane, other clients, a slot.")
	for i, w := range waits {
		waiting(float64(now.waiting[i]), "for", w.label)
	}
	waited := e.counter("calls_waited_seconds_total", "How long calls have waited, those that wait now included, by what for.")
	for i, w := range waits {
		waited(stats.Waited[i].Seconds(), "for", w.label)
	}
	e.gauge("lanes", "Lanes that have calls.")(float64(len(lanes)))
	queues := e.gauge("lane_queued", "Calls that wait in a lane, of the lanes with most, rank 1 having most.")
	for i, n := range now.queues {
		queues(float64(n), "rank", strconv.Itoa(i+1))
	}
	if s.Servers != nil {
		memory := e.gauge("language_server_memory_bytes", "Memory of the language servers that run, by name, with what they started.")
		servers := s.Servers()
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			memory(float64(servers[name]), "name", name)
		}
	}
	return e
}

// Live returns the figures, and the running and waiting calls, as text for
// users.
func (s *Source) Live() string {
	var b strings.Builder
	stats, lanes := s.Scheduler.Snapshot()
	now, c := sum(lanes), stats.Cancelled
	fmt.Fprintf(&b, "calls: %d running, %d being decided on, %d queued; since the start %d arrived, %d ran, %d were cancelled (%d waiting, %d being decided on, %d running), %d had the result of another, %d were refused because too many waited\n",
		now.running, now.deciding, now.queued, stats.Arrived, stats.Ran, c.Waiting+c.Deciding+c.Running, c.Waiting, c.Deciding, c.Running, stats.Shared, stats.Full)
	fmt.Fprintf(&b, "repeated reads answered in short: %d\nbatches by number of calls:", s.Repeats())
	for i, n := range stats.Batches {
		fmt.Fprintf(&b, " %s: %d", sizes[i], n)
	}
	b.WriteString("\nwaited in all:")
	for i, w := range waits {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " for %s: %v (%d now)", w.text, stats.Waited[i].Round(time.Millisecond), now.waiting[i])
	}
	b.WriteByte('\n')
	for _, l := range lanes {
		fmt.Fprintf(&b, "lane %s (%d): %d queued", plain.Line(l.Lane), l.Number, l.Queued)
		if l.Waits != "" {
			fmt.Fprintf(&b, ", the first waits for %s (%v)", plain.Line(l.Waits), s.Now().Sub(l.Since).Round(time.Millisecond))
		}
		b.WriteByte('\n')
		for _, r := range l.Running {
			what := "runs"
			since := r.Started
			if !r.Ran {
				what, since = "is being decided on", r.Turn
			}
			fmt.Fprintf(&b, "  %s %s for %v: %s\n", plain.Line(r.Kind), what, s.Now().Sub(since).Round(time.Millisecond), plain.Line(r.Title))
		}
	}
	return b.String()
}
