// Searches of a tree, beside ripgrep.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

const (
	// searchRounds is how many turns there are of each kind; the least time counts,
	// since others disturb. Every firstEvery-th turn has a first search, too.
	searchRounds, firstEvery = 21, 3
	searchTime               = 15 * time.Minute
	// settleTime is how long making the index may take.
	settleTime = 2 * time.Minute
)

// searchResult is what a case took, in milliseconds: rg, a program of the
// standard library, a server's first search, a later one, and one of a server
// that is told of changes by the system.
type searchResult struct {
	searchCase
	rg, plain, first, later, watched float64
}

// searches are the results on one tree; absent says why there are none.
type searches struct {
	tree    string
	results []searchResult
	absent  string
}

// ripgrep is the program, installed if need be.
func ripgrep(ctx context.Context) (string, error) {
	if path := os.Getenv("RIPGREP"); path != "" {
		return path, nil
	}
	if path, err := exec.LookPath("rg"); err == nil {
		return path, nil
	}
	dir, err := moduleDir(ctx)
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "bash", filepath.Join(dir, "e2e", "ripgrep", "install.sh")).Output()
	if err != nil {
		return "", errors.New("ripgrep is not installed, and npm cannot install it")
	}
	return strings.TrimSpace(string(out)), nil
}

// measureSearches asks both about a tree.
func measureSearches(ctx context.Context, ours *side, tree string) *searches {
	s := &searches{tree: tree}
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	rg, err := ripgrep(ctx)
	if err == nil {
		err = s.measure(ctx, ours, rg)
	}
	if err != nil {
		s.absent = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return s
}

func (s *searches) measure(ctx context.Context, ours *side, rg string) error {
	stamps, watch := *ours, *ours
	stamps.argv = []string{ours.argv[0], "stdio", s.tree}
	watch.argv = []string{ours.argv[0], "stdio", "--search-watch=on", s.tree}
	later, err := settled(ctx, &stamps)
	if err != nil {
		return err
	}
	defer later.stop()
	watched, err := settled(ctx, &watch)
	if err != nil {
		return err
	}
	defer watched.stop()
	for _, c := range searchCases {
		inf := math.Inf(1)
		r := searchResult{c, inf, inf, inf, inf, inf}
		for i := range searchRounds {
			err := errors.Join(
				keepLeast(&r.rg, func() (float64, error) { return c.runRG(ctx, rg, s.tree) }),
				keepLeast(&r.later, func() (float64, error) { return c.ask(later) }),
				keepLeast(&r.watched, func() (float64, error) { return c.ask(watched) }))
			if i%firstEvery == 0 {
				err = errors.Join(err, keepLeast(&r.first, func() (float64, error) { return c.askNew(ctx, &stamps) }))
			}
			if err != nil {
				return err
			}
		}
		if err := keepLeast(&r.plain, func() (float64, error) { return c.runPlain(s.tree) }); err != nil {
			return err
		}
		s.results = append(s.results, r)
	}
	return nil
}

// keepLeast takes a figure if it is less than the one there.
func keepLeast(have *float64, measure func() (float64, error)) error {
	ms, err := measure()
	*have = min(*have, ms)
	return err
}

// settled is a server that has made its index.
func settled(ctx context.Context, ours *side) (*client, error) {
	c, _, err := ours.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := settle(c); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// settle searches until three searches in a row take about the same: by then the
// index is made.
func settle(c *client) error {
	absent := searchCases[0]
	end := time.Now().Add(settleTime)
	last, same := math.Inf(1), 0
	for same < 20 && time.Now().Before(end) {
		ms, err := absent.ask(c)
		if err != nil {
			return err
		}
		if same++; ms < 0.7*last {
			last, same = ms, 0
		}
		time.Sleep(200 * time.Millisecond) // the index is made while nobody asks
	}
	return nil
}

// ask calls the tool.
func (c searchCase) ask(to *client) (ms float64, err error) {
	tool := "Grep"
	if c.rg[0] == "--files" {
		tool = "Glob"
	}
	params, err := json.Marshal(map[string]any{"name": tool, "arguments": c.args})
	if err != nil {
		return 0, err
	}
	line, took, err := to.call("tools/call", params)
	if err == nil && bytes.Contains(line, []byte(`"isError":true`)) {
		err = fmt.Errorf("%s: %.300s", c.name, line)
	}
	return millis(took), err
}

// askNew calls the tool of a server that is new.
func (c searchCase) askNew(ctx context.Context, ours *side) (ms float64, err error) {
	cold, _, err := ours.open(ctx)
	if err != nil {
		return 0, err
	}
	ms, err = c.ask(cold)
	return ms, errors.Join(err, cold.stop())
}

// runRG runs ripgrep over the same files and reads what it says.
func (c searchCase) runRG(ctx context.Context, rg, tree string) (ms float64, err error) {
	args := append([]string{"--no-config", "--hidden", "--no-require-git", "--glob", "!.git"}, c.rg...)
	begin := time.Now()
	cmd := exec.CommandContext(ctx, rg, append(args, tree)...)
	_, err = cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 { // nothing found
		err = nil
	}
	return millis(time.Since(begin)), err
}

// printSearches prints the ratios; missed tells whether a target was.
func printSearches(w io.Writer, s *searches) (missed bool, err error) {
	if s.absent != "" {
		_, err := fmt.Fprintf(w, "\nSEARCHES OF %s: not measured: %s\n", s.tree, s.absent)
		return false, err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "\nSEARCHES OF %s\trg\tPLAIN\tFIRST\tTARGET\tLATER\tTARGET\tWATCHED\tTARGET\t\n", s.tree)
	for _, r := range s.results {
		verdict := ""
		if over(r.first/r.rg, r.searchCase.first) || over(r.later/r.rg, r.searchCase.later) || over(r.watched/r.rg, r.searchCase.watched) {
			missed, verdict = true, "missed"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.name, show("%.1f ms", r.rg), show("%.1f", r.plain/r.rg),
			show("%.2f", r.first/r.rg), target(r.searchCase.first), show("%.3f", r.later/r.rg), target(r.searchCase.later),
			show("%.3f", r.watched/r.rg), target(r.searchCase.watched), verdict)
	}
	if err := tw.Flush(); err != nil {
		return missed, err
	}
	_, err = fmt.Fprintf(w, "The least time of %d turns each (%d of FIRST, one of PLAIN: the standard library alone), in relation to rg's: a whole call over a connection that is there, a whole run of rg. FIRST is a new server's first search, WATCHED is with --search-watch=on.\n",
		searchRounds, (searchRounds+firstEvery-1)/firstEvery)
	return missed, err
}

func over(ratio, target float64) bool { return target > 0 && ratio > target }

func target(t float64) string {
	if t == 0 {
		return ""
	}
	return fmt.Sprintf("<= %.2f", t)
}
