// Package task provides the tools for background tasks: TaskOutput, TaskInput and TaskStop.
package task

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"mcp-toolset/internal/event"
	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// Options holds the settings of the tools.
type Options struct {
	Tasks     *tasks.Registry // required
	MaxOutput int             // limit of output in one answer, in characters; 0: 30,000
	Events    *event.Registry // announces the end of tasks; nil: it is not announced
	// Ports returns notes on the ports on which a task listens. It may be nil.
	Ports func(context.Context, *tasks.Task) []string
}

const (
	maxOutput = 30_000
	// besides is the room in a result for text other than the output, in characters.
	besides = 10_000
)

// New returns the tools.
func New(o Options) []*tools.Tool {
	return []*tools.Tool{NewOutput(o), NewInput(o), NewStop(o)}
}

// Keys of a result's _meta, for programs.
const (
	MetaTaskID     = "mcp-toolset/task_id"
	MetaStatus     = "mcp-toolset/status"      // a task.State
	MetaExitCode   = "mcp-toolset/exit_code"   // only for a task that ended with an exit code
	MetaNextOffset = "mcp-toolset/next_offset" // offset at which the output continues, in bytes
	MetaMore       = "mcp-toolset/more"        // whether there is more output already
	MetaTasks      = "mcp-toolset/tasks"       // of TaskOutput without task_id: a list of Entry
)

// Meta returns the _meta of a result about one task.
func Meta(id string, s tasks.Status) map[string]any {
	m := map[string]any{MetaTaskID: id, MetaStatus: s.State}
	if s.Exited {
		m[MetaExitCode] = s.Code
	}
	return m
}

// hasEnded reports whether a task has ended and all its output is stored.
func hasEnded(t *tasks.Task) bool {
	select {
	case <-t.Done():
		return true
	default:
		return false
	}
}

// ended returns the source and the text of the event that a task has ended.
func ended(t *tasks.Task) event.Event {
	s := t.Status()
	return event.Event{
		Source: t.Source(),
		Text:   fmt.Sprintf("ended after %s, %s: %s. TaskOutput shows its output.", duration(s.Ended.Sub(s.Started)), plain.Line(s.Detail), title(t)),
	}
}

// Announce makes the registry of tasks add an event for each task that ends.
func Announce(r *tasks.Registry, events *event.Registry) {
	r.OnEnd = func(o session.Owner, t *tasks.Task) { events.Add(o, ended(t)) }
}

// seen retracts the event that a task has ended, because the answer shows its end.
func (o Options) seen(env *tools.Env, t *tasks.Task, s tasks.Status) {
	if s.State != tasks.Running {
		o.Tasks.Seen(t)
		o.Events.Retract(env.Session.Owner(), t.Source())
	}
}

// exitCode returns the exit code for an output, or nil if there is none.
func exitCode(s tasks.Status) *int {
	if !s.Exited {
		return nil
	}
	return &s.Code
}

// itemID matches the ids of the tools for work lists.
var itemID = regexp.MustCompile(`^[0-9]+$`)

// Find returns the task with an id. It fails if the task does not belong to the caller.
func Find(env *tools.Env, r *tasks.Registry, id string) (*tasks.Task, error) {
	t, ok := r.Get(env.Session.Owner(), id)
	switch {
	case !ok && itemID.MatchString(id):
		return nil, fault.New(plain.Key(id)+" is the id of a task on the list of work, not of a background task", "Use TaskGet or TaskUpdate.")
	case !ok:
		return nil, fault.New("there is no background task "+plain.Line(id), "TaskOutput without task_id lists those there are; one that has ended is forgotten after an hour.")
	}
	return t, nil
}

// how returns a short description of a task's state.
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

// duration formats a duration for people, rounded down to its last unit.
func duration(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}
