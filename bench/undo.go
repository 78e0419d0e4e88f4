// Undo: the time that recording changes adds to commands, in trees of two sizes.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	undoCommands = 40
	undoBuilds   = 2
	undoLoops    = 4
	undoCalls    = 500 // of a day's work
	undoTime     = 10 * time.Minute
	undoMore     = 200 // target for a command in the larger tree, in ms
	undoShare    = 1.1 // target for a build with the recording, of one without
)

// undoTree holds the times of commands in a tree, without and with the recording of changes.
type undoTree struct {
	files                   int
	commands, builds, loops []*shellWay
	firsts                  []float64 // ms of the first command
}

// undos holds the measured costs of undo.
type undos struct {
	trees  []*undoTree
	disk   float64 // MB of the state folder after undoCalls calls in the smaller tree, without the base
	base   float64 // MB of it before them
	absent string  // why nothing was measured
}

func measureUndo(ctx context.Context, ours *side, tmp string) *undos {
	u := &undos{}
	ctx, cancel := context.WithTimeout(ctx, undoTime)
	defer cancel()
	for _, files := range []int{10_000, 100_000} {
		if err := u.measure(ctx, ours, tmp, files); err != nil {
			u.absent = strings.ReplaceAll(err.Error(), "\n", "; ")
			break
		}
	}
	return u
}

// makeUndoTree makes a tree of so many files of 4 KB.
func makeUndoTree(dir string, files int) error {
	for i := range files {
		folder := filepath.Join(dir, fmt.Sprint(i/1000), fmt.Sprint(i/50%20))
		if i%50 == 0 {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return err
			}
		}
		text := strings.Repeat(fmt.Sprintf("line of the file %d, %x\n", i, i*i*2654435761), 100)
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%d.go", i)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (u *undos) measure(ctx context.Context, ours *side, tmp string, files int) error {
	t := &undoTree{files: files}
	// A build runs a program for each file that it writes. Nothing writes files faster than a loop of the shell.
	build := "mkdir -p out; i=0; while [ $i -lt 10000 ]; do cp 0/0/f$((i % 50)).go out/$i; i=$((i+1)); done; echo built"
	loop := "mkdir -p out; i=0; while [ $i -lt 10000 ]; do echo $i $(( RANDOM )) > out/$i; i=$((i+1)); done; echo built"
	for _, on := range []bool{false, true} {
		dir := filepath.Join(tmp, fmt.Sprintf("undo-%d-%v", files, on))
		if err := makeUndoTree(dir, files); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		file := dir + ".json"
		if err := os.WriteFile(file, fmt.Appendf(nil, `{"undo": {"enabled": %v}}`, on), 0o600); err != nil {
			return err
		}
		other := *ours
		other.argv = []string{ours.argv[0], "stdio", "--settings", file, "--mode", "bypassPermissions", dir}
		c, _, err := other.open(ctx)
		if err != nil {
			return fmt.Errorf("starting %s: %w", ours.name, err)
		}
		defer func() {
			_ = c.stop()
			_ = exec.CommandContext(ctx, ours.argv[0], "undo", "forget", "--root", dir).Run()
		}()
		name := map[bool]string{false: "without undo", true: "with undo"}[on]
		ms, err := toolWay(name, c, "touch first; echo done", "done").run(ctx)
		if err != nil {
			return err
		}
		t.firsts = append(t.firsts, ms)
		if _, err := toolWay(name, c, "touch first; sleep 3; echo done", "done").run(ctx); err != nil { // nothing is young after it
			return err
		}
		t.commands = append(t.commands, toolWay(name, c, "eval true; echo done", "done"))
		t.builds = append(t.builds, toolWay(name, c, build, "built"))
		t.loops = append(t.loops, toolWay(name, c, loop, "built"))
		if on && len(u.trees) == 0 {
			u.base = stateSize()
			for i := range undoCalls {
				way := toolWay(name, c, fmt.Sprintf("for f in 0/1/*; do echo %d >> $f; done; echo done", i), "done")
				if i%50 != 0 { // most calls change little
					way = toolWay(name, c, fmt.Sprintf("echo %d >> 1/1/f1050.go; echo done", i), "done")
				}
				if _, err := way.run(ctx); err != nil {
					return err
				}
			}
			u.disk = stateSize() - u.base
		}
	}
	u.trees = append(u.trees, t)
	return errors.Join(turns(ctx, t.commands, undoCommands), turns(ctx, t.loops, undoLoops), turns(ctx, t.builds, undoBuilds))
}

// stateSize returns the size of the undo stores in the state folder, in MB.
func stateSize() float64 {
	dir := os.Getenv("MCP_TOOLSET_STATE_DIR")
	if home, err := os.UserHomeDir(); dir == "" && err == nil {
		dir = filepath.Join(home, ".local", "state", "mcp-toolset")
	}
	var sum int64
	_ = filepath.WalkDir(filepath.Join(dir, "undo"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return float64(sum) / 1e6
}

// printUndo prints the medians. missed reports whether a target was missed.
func printUndo(w io.Writer, u *undos) (missed bool, err error) {
	if u.absent != "" {
		_, err = fmt.Fprintf(w, "\nUNDO: not measured: %s\n", u.absent)
		return false, err
	}
	for _, t := range u.trees {
		for _, row := range []struct {
			title string
			ways  []*shellWay
		}{{"A COMMAND THAT MAY WRITE", t.commands}, {"A BUILD OF 10,000 FILES", t.builds}, {"A LOOP THAT WRITES 10,000 FILES", t.loops}} {
			list := make([]turnsOf, len(row.ways))
			for i, way := range row.ways {
				list[i] = turnsOf{way.name, way.ms}
			}
			err = errors.Join(err, printRows(w, fmt.Sprintf("%s, IN %d FILES", row.title, t.files), list, "In turns."))
		}
		more := median(t.commands[1].ms) - median(t.commands[0].ms)
		share := median(t.builds[1].ms) / median(t.builds[0].ms)
		missed = missed || !(more < undoMore) || !(share < undoShare)
		first := t.firsts[1] - t.firsts[0]
		_, failed := fmt.Fprintf(w, "Undo adds %.1f ms to a command, target < %d ms, and %.0f ms to the first one; a build takes %.2f of the time, target < %.1f.\n", more, undoMore, first, share, undoShare)
		err = errors.Join(err, failed)
	}
	_, failed := fmt.Fprintf(w, "Stored for undo: %.1f MB for the tree of 10,000 files, and %.1f MB more after %d calls.\n", u.base, u.disk, undoCalls)
	return missed, errors.Join(err, failed)
}
