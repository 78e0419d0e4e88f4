// Many events for one session of an HTTP server, and what they cost the others.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	eventSessions = 200
	// monitors is the number of monitors of one session, each of which makes an event of
	// each of the lines that are appended to a file.
	monitors       = 100
	linesPerSecond = 10
	eventPhase     = 5 * time.Second
	eventTurns     = 3
)

// events holds the times of the other sessions' reads, without and with events, in ms, and
// counts of the events.
type events struct {
	absent      string // reason why nothing was measured; "": all was
	quiet, busy []float64
	quietP95    []float64
	busyP95     []float64
	last        int // ID of the last event
	received    int
	dropped     int
	twice       int     // events that arrived again or out of order
	grew        float64 // MB
	rate        float64 // events a second
}

// measureEvents measures reads of 199 sessions while the first gets events.
func measureEvents(ctx context.Context, ours *side, s sample) *events {
	e := &events{}
	if err := e.measure(ctx, ours, s); err != nil {
		e.absent = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return e
}

func (e *events) measure(ctx context.Context, ours *side, s sample) error {
	server, url, err := serveHTTP(ctx, ours.argv[0], s.dir)
	if err != nil {
		return err
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	clients := make([]*httpClient, eventSessions)
	for i := range clients {
		if clients[i], err = connect(ctx, url); err != nil {
			return err
		}
	}
	path := filepath.Join(s.dir, "events.log")
	lines, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { lines.Close(); os.Remove(path) }()
	for range monitors {
		monitor := fmt.Sprintf(`{"name":"Monitor","arguments":{"description":"bench","path":%q,"persistent":true}}`, path)
		if err := clients[0].read(ctx, []byte(monitor), "onitor"); err != nil {
			return err
		}
	}
	before, err := resident(server.Process.Pid)
	if err != nil {
		return err
	}
	for range eventTurns {
		for _, busy := range []bool{false, true} {
			last := e.last
			times, err := e.phase(ctx, clients, ours, s, busy, lines)
			switch {
			case err != nil:
				return err
			case busy:
				e.busy, e.busyP95 = append(e.busy, median(times)), append(e.busyP95, percentile(times, 95))
				e.rate = max(e.rate, float64(e.last-last)/eventPhase.Seconds())
			default:
				e.quiet, e.quietP95 = append(e.quiet, median(times)), append(e.quietP95, percentile(times, 95))
			}
		}
	}
	after, err := resident(server.Process.Pid)
	e.grew = after - before
	return err
}

// phase lets every session but the first read twice a second, and the first one 20 times. It
// returns the times of the reads of the others, in ms.
func (e *events) phase(ctx context.Context, clients []*httpClient, ours *side, s sample, busy bool, lines io.Writer) (times []float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, eventPhase)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	failed := func(problem error) {
		if ctx.Err() == nil {
			mu.Lock()
			err = errors.Join(err, problem)
			mu.Unlock()
			cancel()
		}
	}
	if busy {
		all.Go(func() {
			every(ctx, 0, time.Second/linesPerSecond, func() {
				if _, err := io.WriteString(lines, "a line\n"); err != nil {
					failed(err)
				}
			})
		})
	}
	all.Go(func() {
		every(ctx, 0, 50*time.Millisecond, func() {
			if err := e.receive(context.WithoutCancel(ctx), clients[0], ours, s); err != nil {
				failed(err)
			}
		})
	})
	for i, c := range clients[1:] {
		all.Go(func() {
			every(ctx, time.Duration(i)*500*time.Millisecond/eventSessions, 500*time.Millisecond, func() {
				begin := time.Now()
				if err := c.read(context.WithoutCancel(ctx), ours.read, s.lastLine); err != nil {
					failed(err)
				}
				mu.Lock()
				times = append(times, float64(time.Since(begin))/1e6)
				mu.Unlock()
			})
		})
	}
	all.Wait()
	if busy { // the monitors look at the file every 250 ms
		for range 10 {
			time.Sleep(50 * time.Millisecond)
			if err := e.receive(context.WithoutCancel(ctx), clients[0], ours, s); err != nil {
				return nil, err
			}
		}
	}
	return times, err
}

// every calls f at an interval until ctx ends.
func every(ctx context.Context, first, interval time.Duration, f func()) {
	timer := time.NewTimer(first)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			timer.Reset(interval)
			f()
		}
	}
}

var (
	eventID      = regexp.MustCompile(`\{"id":(\d+),"time":"`)
	eventDropped = regexp.MustCompile(`(\d+) events? before that dropped`)
)

// receive reads, and counts the events in the answer.
func (e *events) receive(ctx context.Context, c *httpClient, ours *side, s sample) error {
	body, err := c.text(ctx, ours.read, s.lastLine)
	if err != nil {
		return err
	}
	if m := eventDropped.FindSubmatch(body); m != nil {
		n, _ := strconv.Atoi(string(m[1]))
		e.dropped += n
	}
	for _, m := range eventID.FindAllSubmatch(body, -1) {
		id, _ := strconv.Atoi(string(m[1]))
		if id <= e.last {
			e.twice++
			continue
		}
		e.last = id
		e.received++
	}
	return nil
}

// printEvents prints the medians over the turns. It reports whether an event was lost
// uncounted, or came twice or out of order.
func printEvents(w io.Writer, e *events) (missed bool, err error) {
	if e.absent != "" {
		_, err := fmt.Fprintf(w, "\nEVENTS: not measured: %s\n", e.absent)
		return false, err
	}
	_, err = fmt.Fprintf(w, "\nEVENTS OF ONE OF %d HTTP SESSIONS\nreads of the others, median: %.2f ms without events, %.2f ms with %.0f events a second (ratio %s)\nreads of the others, p95: %.2f ms and %.2f ms\n%d events: %d received in order, %d dropped and counted, %d lost, %d twice or out of order; the server grew by %.1f MB\n",
		eventSessions, median(e.quiet), median(e.busy), e.rate, showRatio("%.2f", e.busy, e.quiet), median(e.quietP95), median(e.busyP95),
		e.last, e.received, e.dropped, e.last-e.received-e.dropped, e.twice, e.grew)
	return e.last-e.received-e.dropped != 0 || e.twice > 0, err
}
