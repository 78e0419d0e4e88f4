// Package metrics shows what the scheduler does: to programs in the text format
// of Prometheus, to people as a live view.
package metrics

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/plain"
)

// Source is where the figures are.
type Source struct {
	Scheduler *concurrency.Scheduler
	Repeats   func() uint64 // repeated reads answered in short
	Now       func() time.Time
}

// maxLanes is how many lanes are shown by themselves, those with the longest
// queues: clients come and go, and a series for each would be kept for ever.
const maxLanes = 10

// sizes name the counters of concurrency.Stats.Batches.
var sizes = [...]string{"1", "2", "3-4", "5-8", "9-16", "17-32", "33+"}

// waits name what calls wait for, for programs and for people.
var waits = [concurrency.WaitKinds]struct{ label, text string }{
	concurrency.WaitTurn:    {"turn", "their turn"},
	concurrency.WaitEarlier: {"earlier", "earlier calls"},
	concurrency.WaitClients: {"clients", "other clients"},
	concurrency.WaitSlot:    {"slot", "a slot"},
}

// totals are the calls of all lanes as they are.
type totals struct {
	running, deciding, queued int
	waiting                   [concurrency.WaitKinds]int
	queues                    []int // of lanes, the longest first, at most maxLanes
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

// Handler serves the figures in Prometheus' text format.
func (s *Source) Handler() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(s)
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{DisableCompression: true})
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("mcp_toolset_"+name, help, labels, nil)
}

// Describe describes nothing: what there is is known when it is collected.
func (s *Source) Describe(chan<- *prometheus.Desc) {}

// Collect sends the figures as they are.
func (s *Source) Collect(to chan<- prometheus.Metric) {
	stats, lanes := s.Scheduler.Snapshot()
	now := sum(lanes)
	seconds := func(d *prometheus.Desc, n float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, n, labels...)
	}
	counter := func(d *prometheus.Desc, n uint64, labels ...string) { seconds(d, float64(n), labels...) }
	gauge := func(d *prometheus.Desc, n int, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	counter(desc("calls_arrived_total", "Calls that took a place."), stats.Arrived)
	counter(desc("calls_ran_total", "Calls that ran and have ended."), stats.Ran)
	cancelled := desc("calls_cancelled_total", "Calls cancelled, by what they did then.", "while")
	counter(cancelled, stats.Cancelled.Waiting, "waiting")
	counter(cancelled, stats.Cancelled.Deciding, "deciding")
	counter(cancelled, stats.Cancelled.Running, "running")
	counter(desc("calls_shared_total", "Calls that had the result of another one."), stats.Shared)
	counter(desc("calls_refused_total", "Calls refused because too many waited."), stats.Full)
	counter(desc("reads_repeated_total", "Repeated reads answered in short."), s.Repeats())
	batches := desc("batches_total", "Batches of calls that may run together, by their number of calls.", "size")
	for i, n := range stats.Batches {
		counter(batches, n, sizes[i])
	}
	gauge(desc("calls_running", "Calls that run."), now.running)
	gauge(desc("calls_deciding", "Calls that are being decided on."), now.deciding)
	gauge(desc("calls_queued", "Calls that wait."), now.queued)
	waiting := desc("calls_waiting", "Calls that wait, by what for: their turn, earlier calls of their lane, other clients, a slot.", "for")
	waited := desc("calls_waited_seconds_total", "How long calls have waited, those that wait now included, by what for.", "for")
	for i, w := range waits {
		gauge(waiting, now.waiting[i], w.label)
		seconds(waited, stats.Waited[i].Seconds(), w.label)
	}
	gauge(desc("lanes", "Lanes that have calls."), len(lanes))
	queues := desc("lane_queued", "Calls that wait in a lane, of the lanes with most, rank 1 having most.", "rank")
	for i, n := range now.queues {
		gauge(queues, n, strconv.Itoa(i+1))
	}
}

// Live is the figures and what runs and waits, for a person.
func (s *Source) Live() string {
	var b strings.Builder
	stats, lanes := s.Scheduler.Snapshot()
	now, c := sum(lanes), stats.Cancelled
	fmt.Fprintf(&b, "calls: %d running, %d being decided on, %d queued; since the start %d arrived, %d ran, %d were cancelled (%d waiting, %d being decided on, %d running), %d had the result of another, %d were refused\n",
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
