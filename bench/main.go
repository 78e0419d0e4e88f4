// Command bench measures the product beside the reference filesystem server:
// start-up, resident memory, and file reads, over stdio, in one interleaved
// run; the middle of a large log beside sed, an edit beside perl, a web page as
// Markdown beside pandoc and turndown, commands beside a shell alone, searches beside
// ripgrep, language servers beside themselves, the recording of changes for undo, the loop of agents, and the tools of many upstream servers. It is a module of its own, so that the
// product does not require its libraries. From the repository:
//
//	go run -C bench . [--runs N] [--reads N] [--tree DIR] [--check]
//
// The exit code is 0 when it could measure, 1 when --check is given and a
// target was missed, 2 when it could not measure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

type options struct {
	runs, reads int
	check       bool
	trees       []string
}

func main() {
	var o options
	flag.IntVar(&o.runs, "runs", 20, "how many times each server is started")
	flag.IntVar(&o.reads, "reads", 2000, "how many reads of each kind each server does")
	flag.Func("tree", "the absolute path of a folder to search beside the Go distribution; may be given several times", func(dir string) error {
		o.trees = append(o.trees, dir)
		return nil
	})
	flag.BoolVar(&o.check, "check", false, "exit 1 when a target is missed")
	flag.Parse()
	if flag.NArg() > 0 || o.runs < 1 || o.reads < 1 {
		fmt.Fprintln(os.Stderr, "bench: --runs and --reads are at least 1, and there are no arguments")
		os.Exit(2)
	}
	// An interrupt kills the servers, which fails what waits for them.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	missed, err := run(ctx, o, os.Stdout)
	if ctx.Err() != nil {
		err = context.Cause(ctx) // rather than how the servers ended by it
	}
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	case missed && o.check:
		os.Exit(1)
	}
}

// run measures and prints; missed tells whether a target was.
func run(ctx context.Context, o options, out io.Writer) (missed bool, err error) {
	tmp, err := os.MkdirTemp("", "mcp-toolset-bench-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(tmp)
	sample, err := makeSample(tmp)
	if err != nil {
		return false, fmt.Errorf("writing the sample file: %w", err)
	}
	ours, err := product(ctx, tmp, sample)
	if err != nil {
		return false, err
	}
	if err := ours.rehearse(ctx); err != nil {
		return false, fmt.Errorf("trying %s: %w", ours.name, err)
	}
	theirs, err := peer(ctx, sample)
	if err == nil {
		err = theirs.rehearse(ctx)
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	sides := []*side{ours, theirs}
	if err != nil {
		theirs.absent = strings.ReplaceAll(err.Error(), "\n", "; ")
		sides = sides[:1]
	}
	if err := measureStarts(ctx, sides, o.runs); err != nil {
		return false, err
	}
	if err := measureReads(ctx, sides, o.reads); err != nil {
		return false, err
	}
	ways, err := measureLog(ctx, ours, sample.dir)
	if err != nil {
		return false, err
	}
	editors, err := measureEdits(ctx, ours, sample.dir)
	if err != nil {
		return false, err
	}
	pages, err := measurePage(ctx, ours, tmp)
	if err != nil {
		return false, err
	}
	commands := measureShells(ctx, ours, sample.dir)
	network := measureNetwork(ctx, ours, tmp)
	asked := measureLanguages(ctx, ours, tmp)
	undone := measureUndo(ctx, ours, tmp)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	var found []*searches
	goRoot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return false, fmt.Errorf("finding the Go distribution: %w", err)
	}
	others := measurePool(ctx, ours, tmp)
	many := measureBatches(ctx, ours, theirs, strings.TrimSpace(string(goRoot)), sample)
	posted := measureEvents(ctx, ours, sample)
	working := measureAgents(ctx, ours, tmp, sample)
	for _, tree := range append([]string{strings.TrimSpace(string(goRoot))}, o.trees...) {
		found = append(found, measureSearches(ctx, ours, tree))
	}
	if missed, err = printTable(out, ours, theirs, o); err != nil {
		return missed, err
	}
	err = errors.Join(printLog(out, ways), printEdits(out, editors), printPage(out, pages), printBatches(out, many))
	slow, failed := printShells(out, commands)
	missed, err = missed || slow, errors.Join(err, failed)
	slow, failed = printNetwork(out, network)
	missed, err = missed || slow, errors.Join(err, failed)
	slow, failed = printLanguages(out, asked)
	missed, err = missed || slow, errors.Join(err, failed)
	slow, failed = printUndo(out, undone)
	missed, err = missed || slow, errors.Join(err, failed)
	slow, failed = printPool(out, others)
	missed, err = missed || slow, errors.Join(err, failed)
	slow, failed = printEvents(out, posted)
	missed, err = missed || slow, errors.Join(err, failed)
	slow, failed = printAgents(out, working)
	missed, err = missed || slow, errors.Join(err, failed)
	for _, s := range found {
		slow, errs := printSearches(out, s)
		missed, err = missed || slow, errors.Join(err, errs)
	}
	return missed, err
}
