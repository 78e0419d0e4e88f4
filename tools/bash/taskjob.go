package bash

import (
	"fmt"
	"strings"
	"sync/atomic"

	"mcp-toolset/internal/spool"
	"mcp-toolset/internal/task"
)

// taskJob is a command in the registry of tasks. Once the command has ended, it holds
// only what can still be asked for.
type taskJob struct {
	title  string
	done   <-chan struct{}
	output *spool.Log
	job    atomic.Pointer[job] // nil: settled
	final  task.Status         // set before job is nil
}

var _ task.Job = (*taskJob)(nil)

func newTaskJob(j *job) *taskJob {
	e := &taskJob{title: j.Title(), done: j.Done(), output: j.Output()}
	e.job.Store(j)
	return e
}

// maxNotes bounds the notes that are held of a command that has ended, in bytes.
const maxNotes = 2 << 10

// settle waits for the end of the command and releases what only a running command
// needs, such as its containment, its text and most of the output in memory.
func (e *taskJob) settle() {
	<-e.done
	e.output.Trim()
	e.final = e.Status()
	e.final.Notes = firstNotes(e.final.Notes, maxNotes)
	e.job.Store(nil)
}

// Kind is the kind of task.
func (e *taskJob) Kind() string { return "shell" }

// Title is the first line of the command.
func (e *taskJob) Title() string { return e.title }

// Done is closed when the command and all it started have ended.
func (e *taskJob) Done() <-chan struct{} { return e.done }

// Output is what the command prints.
func (e *taskJob) Output() *spool.Log { return e.output }

// Status is how the command is, or how it ended.
func (e *taskJob) Status() task.Status {
	if j := e.job.Load(); j != nil {
		return j.Status()
	}
	return e.final
}

// Stop ends the command and all it started.
func (e *taskJob) Stop(why string) error {
	if j := e.job.Load(); j != nil {
		return j.Stop(why)
	}
	return nil
}

// Release removes what it printed.
func (e *taskJob) Release() { _ = e.output.Remove() }

// firstNotes returns the notes that have at most limit bytes together, with a note
// on how many are left out.
func firstNotes(notes []string, limit int) []string {
	var out []string
	for i, n := range notes {
		if limit -= len(n); limit < 0 {
			return append(out, fmt.Sprintf("%d further notes are not kept", len(notes)-i))
		}
		out = append(out, strings.Clone(n))
	}
	return out
}
