// Package task is the tools for what runs in the background: TaskOutput,
// TaskStop and TaskList.
package task

import (
	"fmt"
	"time"

	"mcp-toolset/internal/fault"
	"mcp-toolset/internal/plain"
	tasks "mcp-toolset/internal/task"
	"mcp-toolset/tools"
)

// Options are what a server can set.
type Options struct {
	Tasks     *tasks.Registry // required
	MaxOutput int             // characters of output in one answer; 0: 30,000
}

const (
	maxOutput = 30_000
	// besides is room in a result for what is said beside the output, in characters.
	besides = 10_000
)

// New makes the tools.
func New(o Options) []*tools.Tool {
	return []*tools.Tool{NewOutput(o), NewStop(o), NewList(o)}
}

// Keys of a result's _meta, for programs.
const (
	MetaTaskID     = "mcp-toolset/task_id"
	MetaStatus     = "mcp-toolset/status"      // a task.State
	MetaExitCode   = "mcp-toolset/exit_code"   // only of what ended with one
	MetaNextOffset = "mcp-toolset/next_offset" // where the output goes on, in bytes
	MetaMore       = "mcp-toolset/more"        // there is more output already
	MetaTasks      = "mcp-toolset/tasks"       // of TaskList: the Entries
)

// Meta is the _meta of a result about one task.
func Meta(id string, s tasks.Status) map[string]any {
	m := map[string]any{MetaTaskID: id, MetaStatus: s.State}
	if s.Exited {
		m[MetaExitCode] = s.Code
	}
	return m
}

// hasEnded reports whether a task has ended, with all its output there.
func hasEnded(t *tasks.Task) bool {
	select {
	case <-t.Done():
		return true
	default:
		return false
	}
}

// exitCode is the exit code as an output has it.
func exitCode(s tasks.Status) *int {
	if !s.Exited {
		return nil
	}
	return &s.Code
}

// find is the task with an id, if it is the caller's.
func find(env *tools.Env, r *tasks.Registry, id string) (*tasks.Task, error) {
	t, ok := r.Get(tasks.OwnerOf(env.Session), id)
	if !ok {
		return nil, fault.New("there is no task "+plain.Line(id), "TaskList lists those there are; one that has ended is forgotten after an hour.")
	}
	return t, nil
}

// how is in a few words how a task is.
func how(s tasks.Status, now time.Time) string {
	text := plain.Line(s.Detail)
	if text == "" {
		text = string(s.State)
	}
	if s.State == tasks.Running {
		text += ", " + duration(now.Sub(s.Started))
	}
	return text
}

// duration is a time as people say it, cut to its last unit.
func duration(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}
