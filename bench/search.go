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
	searchRounds = 7 // turns of each kind; the least time counts, since others disturb
	firstRounds  = 3 // turns of a server that is new, so that nothing is kept
	searchTime   = 15 * time.Minute
	// settleTime is how long making the index may take.
	settleTime = 2 * time.Minute
)

// searchCase is one question, to Grep and to rg.
type searchCase struct {
	name string
	args map[string]any
	rg   []string
	// first and later are the most of rg's time that a first and a later
	// search may take; 0: no target.
	first, later float64
}

// searchCases are the classes of the targets.
var searchCases = []searchCase{
	{"absent literal", grepArgs("xyzzy_not_there", "files_with_matches", 0), []string{"-l", "xyzzy_not_there"}, 1, 0.2},
	{"identifier, lines", grepArgs("ErrUnexpectedEOF", "content", 0), []string{"-n", "ErrUnexpectedEOF"}, 1, 0.2},
	{"identifier, any case", withArg(grepArgs("errunexpectedeof", "content", 0), "-i", true), []string{"-n", "-i", "errunexpectedeof"}, 1, 0.2},
	{"regex with a literal", grepArgs(`[A-Z]+_RESUME`, "content", 0), []string{"-n", `[A-Z]+_RESUME`}, 1, 0.2},
	{"four words", grepArgs(`EINVAL|ENOMEM|EFAULT|ENOSYS`, "files_with_matches", 0), []string{"-l", `EINVAL|ENOMEM|EFAULT|ENOSYS`}, 1, 0.45},
	{"common word, files", grepArgs("return", "files_with_matches", 0), []string{"-l", "return"}, 1.3, 0.45},
	{"common word, count", grepArgs("return", "count", 0), []string{"-c", "return"}, 1.3, 0.8},
	{"three characters", grepArgs("int", "files_with_matches", 0), []string{"-l", "int"}, 1.3, 0.45},
	{"word boundaries", grepArgs(`\b\w+_init\b`, "files_with_matches", 0), []string{"-l", `\b\w+_init\b`}, 1, 0.45},
	{"no literal, files", grepArgs(`\w+_\w+\s*\(`, "files_with_matches", 0), []string{"-l", `\w+_\w+\s*\(`}, 1.1, 0.8},
	{"no literal, count", grepArgs(`[0-9a-f]{8}-[0-9a-f]{4}`, "count", 0), []string{"-c", `[0-9a-f]{8}-[0-9a-f]{4}`}, 1.1, 0.8},
	{"common word, 250 lines", grepArgs("return", "content", 250), []string{"-n", "return"}, 0, 0.15},
	{"common word, 250 files", grepArgs("return", "files_with_matches", 250), []string{"-l", "return"}, 0, 0.15},
	{"no literal, 250 lines", grepArgs(`\w+_\w+\s*\(`, "content", 250), []string{"-n", `\w+_\w+\s*\(`}, 0, 0.15},
	{"Glob, some files", map[string]any{"pattern": "**/*_test.go"}, []string{"--files", "-g", "**/*_test.go"}, 0, 0.2},
}

func grepArgs(pattern, mode string, limit int) map[string]any {
	return map[string]any{"pattern": pattern, "output_mode": mode, "head_limit": limit}
}

func withArg(args map[string]any, key string, value any) map[string]any {
	args[key] = value
	return args
}

// searchResult is what a case took, in milliseconds.
type searchResult struct {
	searchCase
	rg, first, later float64
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
	inTree := *ours
	inTree.argv = []string{ours.argv[0], "stdio", s.tree}
	warm, _, err := inTree.open(ctx)
	if err != nil {
		return err
	}
	defer warm.stop()
	if err := settle(warm); err != nil {
		return err
	}
	for _, c := range searchCases {
		r := searchResult{c, math.Inf(1), math.NaN(), math.Inf(1)}
		for range searchRounds {
			ms, err := c.runRG(ctx, rg, s.tree)
			if err != nil {
				return err
			}
			r.rg = min(r.rg, ms)
			if ms, err = c.ask(warm); err != nil {
				return err
			}
			r.later = min(r.later, ms)
		}
		if c.first > 0 {
			r.first = math.Inf(1)
			for range firstRounds {
				cold, _, err := inTree.open(ctx)
				if err != nil {
					return err
				}
				ms, err := c.ask(cold)
				if err = errors.Join(err, cold.stop()); err != nil {
					return err
				}
				r.first = min(r.first, ms)
			}
		}
		s.results = append(s.results, r)
	}
	return nil
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
	fmt.Fprintf(tw, "\nSEARCHES OF %s\trg\tFIRST\tTARGET\tLATER\tTARGET\t\n", s.tree)
	for _, r := range s.results {
		verdict := ""
		if r.first/r.rg > r.searchCase.first && r.searchCase.first > 0 || r.later/r.rg > r.searchCase.later {
			missed, verdict = true, "missed"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.name, show("%.1f ms", r.rg), show("%.2f", r.first/r.rg), target(r.searchCase.first),
			show("%.3f", r.later/r.rg), target(r.searchCase.later), verdict)
	}
	if err := tw.Flush(); err != nil {
		return missed, err
	}
	_, err = fmt.Fprintf(w, "The least time of %d turns each (%d of a server's first search), in relation to rg's: a whole call over a connection that is there, a whole run of rg.\n",
		searchRounds, firstRounds)
	return missed, err
}

func target(t float64) string {
	if t == 0 {
		return ""
	}
	return fmt.Sprintf("<= %.2f", t)
}
