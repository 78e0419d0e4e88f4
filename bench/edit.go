// One line of an 8 MB file replaced, beside perl.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The file that is edited: 8 MiB in lines of the log.
const (
	editLines  = 102_300
	editAt     = 51_000
	editRounds = 9
)

// editor is one way to replace a text that is in a file once.
type editor struct {
	name string
	edit func(ctx context.Context, old, new string) (ms float64, err error)
	ms   []float64
}

// perlEditor is a run of perl, which does not sync; with sync it is followed by
// a program that does, as Edit does itself.
func perlEditor(path string, sync bool) *editor {
	name := "perl -0pi"
	if sync {
		name += ", then sync"
	}
	return &editor{name: name, edit: func(ctx context.Context, old, new string) (float64, error) {
		begin := time.Now()
		cmd := exec.CommandContext(ctx, "perl", "-0pi", "-e", `BEGIN { $old = shift; $new = shift } s/\Q$old\E/$new/`, old, new, path)
		err := cmd.Run()
		if err == nil && sync {
			err = exec.CommandContext(ctx, "sync", path).Run()
		}
		return millis(time.Since(begin)), err
	}}
}

// toolEditor is a call of Edit over a connection that is there.
func toolEditor(c *client, path string) *editor {
	return &editor{name: "Edit", edit: func(_ context.Context, old, new string) (float64, error) {
		params, err := json.Marshal(map[string]any{"name": "Edit", "arguments": map[string]any{"file_path": path, "old_string": old, "new_string": new}})
		if err != nil {
			return 0, err
		}
		line, took, err := c.call("tools/call", params)
		if err == nil && strings.Contains(string(line), `"isError":true`) {
			err = fmt.Errorf("%.300s", line)
		}
		return millis(took), err
	}}
}

// measureEdits replaces a line to and fro with each editor, in turns.
func measureEdits(ctx context.Context, ours *side, dir string) (editors []*editor, err error) {
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	path := filepath.Join(dir, "edited.txt")
	if err := makeLog(path, editLines); err != nil {
		return nil, fmt.Errorf("writing the file to edit: %w", err)
	}
	defer os.Remove(path)
	c, _, err := ours.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", ours.name, err)
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	editors = []*editor{toolEditor(c, path)}
	if _, err := exec.LookPath("perl"); err == nil {
		editors = append(editors, perlEditor(path, false), perlEditor(path, true))
	}
	for range editRounds {
		for _, e := range editors {
			if err := e.once(ctx, path); err != nil {
				return nil, fmt.Errorf("%s: %w", e.name, err)
			}
		}
	}
	return editors, nil
}

// once edits the file, makes sure of the result, and puts the line back.
func (e *editor) once(ctx context.Context, path string) error {
	old := strings.TrimSuffix(string(logLine(nil, editAt)), "\n")
	edited := old + " edited"
	ms, err := e.edit(ctx, old, edited)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil || len(data) != editLines*lineSize+len(" edited") || !strings.Contains(string(data), edited+"\n") {
		return errors.Join(err, fmt.Errorf("the file has %d bytes and is not what it should be", len(data)))
	}
	e.ms = append(e.ms, ms)
	_, err = e.edit(ctx, edited, old)
	return err
}

// printEdits prints the medians, and Edit in relation to the others.
func printEdits(w io.Writer, editors []*editor) error {
	rows := make([]turnsOf, len(editors))
	for i, e := range editors {
		rows[i] = turnsOf{e.name, e.ms}
	}
	return printRows(w, "ONE LINE OF AN 8 MB FILE REPLACED", rows,
		fmt.Sprintf("%d edits of each, in turns; a ratio is the median of Edit / the other over the turns. Edit syncs file and folder.", editRounds))
}
