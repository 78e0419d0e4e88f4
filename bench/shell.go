// Commands beside a shell alone: what a call of Bash costs, what the containment
// adds, and how fast output is taken.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

const (
	shellCalls   = 1000 // of each way, in turns
	apartCalls   = 50
	apartTime    = 200 * time.Millisecond
	denseBlocks  = 10
	denseCalls   = 10 // in a block
	firstStarts  = 20
	firstTarget  = 25 // ms
	outputRounds = 6
	outputSize   = 300_000_000 // bytes
	outputTarget = 1000        // ms
	shellTime    = 10 * time.Minute
)

// shellWay is one way to run a command.
type shellWay struct {
	name string
	run  func(ctx context.Context) (ms float64, err error)
	ms   []float64
	over float64 // target for the median less that of the first way, in ms; 0: none
}

// shells are what commands took.
type shells struct {
	small, large []*shellWay
	apart, dense []*shellWay // with time between the commands, and without
	first        []float64   // ms from the first start on a machine to tools/list
	grown        float64     // MB that the server held more after the large output
	absent       string      // why nothing was measured
}

// aloneWay is the shell without a server.
func aloneWay(name, command string) *shellWay {
	return &shellWay{name: name, run: func(ctx context.Context) (float64, error) {
		begin := time.Now()
		err := exec.CommandContext(ctx, "bash", "-c", command).Run()
		return millis(time.Since(begin)), err
	}}
}

// toolWay is a call over a connection that is there, whose answer must hold want.
func toolWay(name string, c *client, command, want string) *shellWay {
	return &shellWay{name: name, run: func(context.Context) (float64, error) {
		params, err := json.Marshal(map[string]any{"name": "Bash", "arguments": map[string]string{"command": command}})
		if err != nil {
			return 0, err
		}
		line, took, err := c.call("tools/call", params)
		if err == nil && (bytes.Contains(line, []byte(`"isError":true`)) || !bytes.Contains(line, []byte(want))) {
			err = fmt.Errorf("%.300s", line)
		}
		return millis(took), err
	}}
}

// measureShells runs commands in turns of all ways.
func measureShells(ctx context.Context, ours *side, dir string) *shells {
	s := &shells{}
	if _, err := exec.LookPath("bash"); err != nil {
		s.absent = "bash is not installed"
		return s
	}
	ctx, cancel := context.WithTimeout(ctx, shellTime)
	defer cancel()
	if err := s.measure(ctx, ours, dir); err != nil {
		s.absent = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return s
}

func (s *shells) measure(ctx context.Context, ours *side, dir string) (err error) {
	free, contained := *ours, *ours
	free.argv = []string{ours.argv[0], "stdio", "--sandbox", "off", "--mode", "bypassPermissions", dir}
	contained.argv = []string{ours.argv[0], "stdio", dir}
	var clients []*client
	for _, side := range []*side{&contained, &free} {
		c, _, err := side.open(ctx)
		if err != nil {
			return fmt.Errorf("starting %s: %w", ours.name, err)
		}
		defer func() { _ = c.stop() }()
		clients = append(clients, c)
	}
	s.small = []*shellWay{
		aloneWay("bash -c true", "true"),
		toolWay("Bash, --sandbox off", clients[1], "true", "no output"),
		toolWay("Bash", clients[0], "true", "no output"),
		// `true` alone is known to only read; this is not.
		toolWay("Bash, may write", clients[0], "true; eval true", "no output"),
	}
	if err := turns(ctx, s.small, shellCalls); err != nil {
		return err
	}
	if err := s.paced(ctx, ours, clients[0], dir); err != nil {
		return err
	}
	before, err := resident(clients[0].cmd.Process.Pid)
	if err != nil {
		return err
	}
	text := fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x`, outputSize)
	s.large = []*shellWay{
		aloneWay("bash, into a file", text+" >"+filepath.Join(dir, "printed")+"; rm "+filepath.Join(dir, "printed")),
		aloneWay("bash, through a pipe", text+" | cat >/dev/null"),
		toolWay("Bash", clients[0], text, fmt.Sprint(outputSize)),
	}
	err = turns(ctx, s.large, outputRounds)
	after, failed := resident(clients[0].cmd.Process.Pid)
	s.grown = after - before
	return errors.Join(err, failed)
}

// paced measures contained commands with time between them, in which supervisors
// are made ready, and one right after the other; and starts that know of no trial
// of the containment.
func (s *shells) paced(ctx context.Context, ours *side, c *client, dir string) error {
	ways := func(reads, writes float64) []*shellWay {
		out := []*shellWay{aloneWay("bash -c true", "true"), toolWay("Bash", c, "true", "no output"), toolWay("Bash, may write", c, "true; eval true", "no output")}
		out[1].over, out[2].over = reads, writes
		return out
	}
	s.apart, s.dense = ways(6, 10), ways(12, 16)
	for i := range apartCalls + 1 {
		for _, w := range s.apart {
			time.Sleep(apartTime)
			if err := w.measure(ctx, 1, i > 0); err != nil {
				return err
			}
		}
	}
	for i := range denseBlocks + 1 {
		for _, w := range s.dense {
			if err := w.measure(ctx, denseCalls, i > 0); err != nil {
				return err
			}
		}
	}
	for i := range firstStarts {
		fresh := *ours
		fresh.argv = []string{"env", fmt.Sprintf("MCP_TOOLSET_STATE_DIR=%s.state-%d", dir, i), ours.argv[0], "stdio", dir}
		c, ms, err := fresh.open(ctx)
		if err != nil {
			return fmt.Errorf("starting %s: %w", ours.name, err)
		}
		s.first = append(s.first, ms)
		if err := c.stop(); err != nil {
			return err
		}
	}
	return nil
}

// measure runs a way some times in a row.
func (w *shellWay) measure(ctx context.Context, n int, counts bool) error {
	for range n {
		ms, err := w.run(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		if counts {
			w.ms = append(w.ms, ms)
		}
	}
	return nil
}

// turns runs each way once, unmeasured, and then all in turns.
func turns(ctx context.Context, ways []*shellWay, n int) error {
	for i := range n + 1 {
		for _, w := range ways {
			ms, err := w.run(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if i > 0 {
				w.ms = append(w.ms, ms)
			}
		}
	}
	return nil
}

// printShells prints what the ways took beside the first; missed tells whether
// a target was.
func printShells(w io.Writer, s *shells) (missed bool, err error) {
	if s.absent != "" {
		_, err := fmt.Fprintf(w, "\nCOMMANDS: not measured: %s\n", s.absent)
		return false, err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "\n%d COMMANDS, ONE BY ONE\tMEDIAN\tP95\tRATIO\tMORE\t\n", shellCalls)
	for _, way := range s.small {
		more := make([]float64, len(way.ms))
		for i := range more {
			more[i] = way.ms[i] - s.small[0].ms[i]
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t\n", way.name, show("%.1f ms", median(way.ms)), show("%.1f ms", percentile(way.ms, 95)),
			showRatio("%.2f", way.ms, s.small[0].ms), show("%.1f ms", median(more)))
	}
	missed = printOver(tw, fmt.Sprintf("%d COMMANDS, %v APART", apartCalls, apartTime), s.apart)
	missed = printOver(tw, fmt.Sprintf("%d COMMANDS, BACK TO BACK", denseBlocks*denseCalls), s.dense) || missed
	verdict := ""
	if !(median(s.first) < firstTarget) {
		missed, verdict = true, "MISSED"
	}
	fmt.Fprintf(tw, "\nSTARTS WITHOUT A STATE FOLDER\tMEDIAN\tMIN\tTARGET\t\t\n%d\t%s\t%s\t< %d ms\t%s\t\n", len(s.first), show("%.1f ms", median(s.first)), show("%.1f ms", least(s.first)), firstTarget, verdict)
	fmt.Fprintf(tw, "\n%d MB OF OUTPUT\tMEDIAN\tMIN\tRATIO\tTARGET\t\n", outputSize/1_000_000)
	for i, way := range s.large {
		target, verdict := "", ""
		if i == len(s.large)-1 {
			target = fmt.Sprintf("< %d ms", outputTarget)
			if !(median(way.ms) < outputTarget) {
				missed, verdict = true, "MISSED"
			}
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", way.name, show("%.0f ms", median(way.ms)), show("%.0f ms", least(way.ms)),
			showRatio("%.2f", way.ms, s.large[0].ms), target, verdict)
	}
	if err := tw.Flush(); err != nil {
		return missed, err
	}
	_, err = fmt.Fprintf(w, "All ways in turns, each beside the first; MORE is the median difference to it: Bash less Bash with --sandbox off is what the containment costs. "+
		"After %d times %d MB the server held %.1f MB more.\n", outputRounds+1, outputSize/1_000_000, s.grown)
	return missed, err
}

// printOver prints what ways took more than the first. It returns whether a target
// was missed.
func printOver(w io.Writer, title string, ways []*shellWay) (missed bool) {
	fmt.Fprintf(w, "\n%s\tMEDIAN\tMIN\tMORE\tTARGET\t\n", title)
	for _, way := range ways {
		more, target, verdict := median(way.ms)-median(ways[0].ms), "", ""
		if way.over > 0 {
			target = fmt.Sprintf("< %.0f ms more", way.over)
			if !(more < way.over) {
				missed, verdict = true, "MISSED"
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", way.name, show("%.1f ms", median(way.ms)), show("%.1f ms", least(way.ms)), show("%.1f ms", more), target, verdict)
	}
	return missed
}
