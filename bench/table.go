// The table: what was measured, beside the targets.

package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
)

// row is a line of the table: a value per side, NaN if there is none, and a ratio.
type row struct {
	metric       string
	format       string // of a value
	ours, theirs float64
	ratio        string
	below        float64 // target for ours; 0: none
}

func (r row) missed() bool { return r.below > 0 && !(r.ours < r.below) }

func rows(ours, theirs *side) []row {
	compare := func(metric, format string, stat func([]float64) float64, samples func(*side) []float64, below float64) row {
		a, b := samples(ours), samples(theirs)
		return row{metric, format, stat(a), stat(b), showRatio("%.3f", a, b), below}
	}
	const ms, mb = "%.2f ms", "%.1f MB"
	starts := func(s *side) []float64 { return s.start }
	out := []row{
		compare("start to tools/list, median", ms, median, starts, 15),
		compare("start to tools/list, min", ms, least, starts, 0),
		compare("start to tools/list, max", ms, most, starts, 0),
		compare("SIGTERM to its end, max", ms, most, func(s *side) []float64 { return s.stopped }, 300),
	}
	for i := range out[1:] {
		out[i+1].ratio = "-" // extremes are no pair
	}
	if hasResident {
		out = append(out,
			compare("memory after start", mb, median, func(s *side) []float64 { return s.rssStart }, 30),
			compare("memory after load", mb, median, func(s *side) []float64 { return s.rssLoad }, 30))
	}
	// Values are of all reads, ratios of blocks of reads.
	read := func(metric string, value func([]float64) float64, blocks func(*side) []float64, below float64) row {
		return row{metric, "%.3f ms", value(ours.reads), value(theirs.reads), showRatio("%.3f", blocks(ours), blocks(theirs)), below}
	}
	return append(out,
		read("read 10 KB, median", median, func(s *side) []float64 { return s.blockMedian }, 1),
		read("read 10 KB, p95", p95, func(s *side) []float64 { return s.blockP95 }, 0),
		compare(fmt.Sprintf("read 10 KB, %d in flight", inFlight), "%.0f/s", median, func(s *side) []float64 { return s.perSecond }, 0))
}

func p95(samples []float64) float64 { return percentile(samples, 95) }

func least(samples []float64) float64 { return percentile(samples, 0) }

func most(samples []float64) float64 { return percentile(samples, 100) }

// printTable tells whether a target was missed.
func printTable(w io.Writer, ours, theirs *side, o options) (missed bool, err error) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "METRIC\t%s\t%s\tRATIO\tTARGET\t\n", ours.name, theirs.name)
	for _, r := range rows(ours, theirs) {
		target, verdict := "-", ""
		if r.below > 0 {
			target, verdict = "< "+fmt.Sprintf(whole(r.format), r.below), "ok"
		}
		if r.missed() {
			missed, verdict = true, "MISSED"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", r.metric,
			show(r.format, r.ours), show(r.format, r.theirs), r.ratio, target, verdict)
	}
	if err := tw.Flush(); err != nil {
		return missed, err
	}
	for _, n := range notes(theirs, o) {
		if _, err := fmt.Fprintln(w, n); err != nil {
			return missed, err
		}
	}
	return missed, nil
}

func notes(theirs *side, o options) []string {
	out := []string{fmt.Sprintf("%d starts and %d reads of each kind per server, in turns; a ratio is the median of ours / theirs over the turns, with its 95%% confidence interval.", o.runs, o.reads)}
	if theirs.absent != "" {
		out = append(out, theirs.name+" was not measured: "+theirs.absent)
	}
	if !hasResident {
		out = append(out, "Memory was not measured: this system has no /proc/PID/status.")
	}
	return out
}

func show(format string, v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// whole makes a format print no fraction.
func whole(format string) string {
	number, unit, _ := strings.Cut(format, "f")
	number, _, _ = strings.Cut(number, ".")
	return number + ".0f" + unit
}
