// A few lines in the middle of a large log, beside sed.

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"text/tabwriter"
	"time"
)

// The log that is read: 1 GB in lines of a usual length.
const (
	logLines  = 12_200_000
	lineSize  = 82 // bytes, with the newline
	logFrom   = 5_000_000
	logCount  = 20
	logRounds = 6
)

// logTime is the limit for all reads of the log.
const logTime = 2 * time.Minute

// logLine is a line of the log; n is its number.
func logLine(b []byte, n int) []byte {
	b = fmt.Appendf(b, "2026-01-02T03:04:05.%06dZ INFO request served id=%08d path=/api/v1/items", n%1_000_000, n)
	for len(b)%lineSize != lineSize-1 {
		b = append(b, '.')
	}
	return append(b, '\n')
}

// makeLog writes a log of so many lines.
func makeLog(path string, lines int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	for n := 1; n <= lines; n++ {
		line = logLine(line[:0], n)
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return errors.Join(w.Flush(), f.Close())
}

// way is one way to read the lines.
type way struct {
	name string
	read func(context.Context) (answer []byte, ms float64, err error)
	ms   []float64
}

// sedWay is a run of sed with a script.
func sedWay(script, path string) *way {
	return &way{name: "sed -n '" + script + "'", read: func(ctx context.Context) ([]byte, float64, error) {
		begin := time.Now()
		out, err := exec.CommandContext(ctx, "sed", "-n", script, path).Output()
		return out, millis(time.Since(begin)), err
	}}
}

// readWay is a call of Read over a connection that is there.
func readWay(c *client, path string, from, count int) *way {
	return &way{name: fmt.Sprintf("Read, offset %d, limit %d", from, count), read: func(context.Context) ([]byte, float64, error) {
		params, err := json.Marshal(map[string]any{"name": "Read", "arguments": map[string]any{"file_path": path, "offset": from, "limit": count}})
		if err != nil {
			return nil, 0, err
		}
		line, took, err := c.call("tools/call", params)
		return line, millis(took), err
	}}
}

// measureLog reads the middle of a log with the server and with sed, in turns.
func measureLog(ctx context.Context, ours *side, dir string) (ways []*way, err error) {
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	path := filepath.Join(dir, "large.log")
	if err := makeLog(path, logLines); err != nil {
		return nil, fmt.Errorf("writing the log: %w", err)
	}
	defer os.Remove(path)
	c, _, err := ours.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", ours.name, err)
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	ways = []*way{readWay(c, path, logFrom, logCount)}
	if _, err := exec.LookPath("sed"); err == nil {
		last := logFrom + logCount - 1
		ways = append(ways,
			sedWay(fmt.Sprintf("%d,%dp;%dq", logFrom, last, last), path),
			sedWay(fmt.Sprintf("%d,%dp", logFrom, last), path))
	}
	for range logRounds {
		for _, w := range ways {
			if err := w.once(ctx); err != nil {
				return nil, err
			}
		}
	}
	return ways, nil
}

// once reads the lines and makes sure that they are the right ones.
func (w *way) once(ctx context.Context) error {
	answer, ms, err := w.read(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	for n, want := range map[int]bool{logFrom - 1: false, logFrom: true, logFrom + logCount - 1: true, logFrom + logCount: false} {
		if bytes.Contains(answer, bytes.TrimSpace(logLine(nil, n))) != want {
			return fmt.Errorf("%s: line %d is there: %v, want %v: %.300s", w.name, n, !want, want, answer)
		}
	}
	w.ms = append(w.ms, ms)
	return nil
}

// printLog prints the medians, and Read in relation to the others.
func printLog(w io.Writer, ways []*way) error {
	rows := make([]turnsOf, len(ways))
	for i, x := range ways {
		rows[i] = turnsOf{x.name, x.ms}
	}
	return printRows(w, "ONE LINE OF A 1 GB LOG", rows,
		fmt.Sprintf("%d reads of each, in turns, of %d lines from line %d of %d; a ratio is the median of Read / the other over the turns.",
			logRounds, logCount, logFrom, logLines))
}

// turnsOf is one way to do something, with what it took in each turn.
type turnsOf struct {
	name string
	ms   []float64
}

// printRows prints the medians, and the first way in relation to the others.
func printRows(w io.Writer, title string, rows []turnsOf, note string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "\n%s\tMEDIAN\tRATIO\t\n", title)
	for i, r := range rows {
		ratio := "-"
		if i > 0 {
			ratio = showRatio("%.3f", rows[0].ms, r.ms)
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t\n", r.name, show("%.0f ms", median(r.ms)), ratio)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, note)
	return err
}
