package bash

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/internal/exec/spool"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/terminal"
	"mcp-toolset/policy"
)

// taskJob is a command in the task registry. After the command has ended, it holds only
// the data that clients can still request.
type taskJob struct {
	title  string
	done   <-chan struct{}
	output *spool.Log
	input  *os.File            // write end of its standard input; nil: it has none
	screen *terminal.Emulator  // nil: it has no terminal
	inside bool                // whether it is contained
	left   bool                // whether it was to run outside the sandbox
	job    atomic.Pointer[job] // nil after settle
	final  task.Status         // set before job is nil
}

var (
	_ task.Receiver = (*taskJob)(nil)
	_ task.Server   = (*taskJob)(nil)
)

func newTaskJob(j *job) *taskJob {
	e := &taskJob{title: j.Title(), done: j.Done(), output: j.Output(), input: j.input, screen: j.screen, inside: j.Contained(), left: j.left}
	e.job.Store(j)
	return e
}

// maxNotes is the limit of the notes stored for an ended command, in bytes.
const maxNotes = 2 << 10

// settle waits for the end of the command and releases what only a running command
// needs, such as its sandbox, its text and most of its output in memory.
func (e *taskJob) settle() {
	<-e.done
	_ = e.CloseInput()
	e.output.Trim()
	e.final = e.Status()
	e.final.Notes = firstNotes(e.final.Notes, maxNotes)
	e.job.Store(nil)
}

// Kind returns the kind of task.
func (e *taskJob) Kind() string { return "shell" }

// Title returns the first line of the command.
func (e *taskJob) Title() string { return e.title }

// Done returns a channel that is closed when the process tree of the command has ended.
func (e *taskJob) Done() <-chan struct{} { return e.done }

// Output returns the output log of the command.
func (e *taskJob) Output() *spool.Log { return e.output }

// Status returns the current state of the command, or how it ended.
func (e *taskJob) Status() task.Status {
	if j := e.job.Load(); j != nil {
		return j.Status()
	}
	return e.final
}

// Types describes a text that is typed into the command, if a program of it takes the text for
// commands; else it returns nil. whole reports that the text does not end within a line, and holds
// all that is typed.
func (e *taskJob) Types(text string, whole bool) *policy.Parts {
	j := e.job.Load()
	if j == nil || j.tool == "PowerShell" {
		return nil
	}
	a := shellsafe.Typed(j.command, text, e.screen != nil, whole, shellsafe.Options{})
	if a == nil {
		return nil
	}
	p := &policy.Parts{Unresolved: a.Unresolved, Incomplete: a.Incomplete}
	for i := range a.Commands {
		c := &a.Commands[i]
		part := policy.Part{Text: c.Text, Name: c.DenyText(), KnownPrefix: c.KnownPrefix, Possible: c.Possible}
		for _, f := range c.Forms {
			part.Forms = append(part.Forms, policy.Form{Text: f.Text, KnownPrefix: f.KnownPrefix})
		}
		p.List = append(p.List, part)
	}
	return p
}

// Stop ends the process tree of the command. It does nothing after the end.
func (e *taskJob) Stop(why string) error {
	if j := e.job.Load(); j != nil {
		return j.Stop(why)
	}
	return nil
}

// Network returns the network of the command, or nil if it has that of the machine or has ended.
func (e *taskJob) Network() task.Network {
	if j := e.job.Load(); j != nil {
		return NetworkOf(j.Running)
	}
	return nil
}

// NetworkOf returns the network of a command as that of a task.
func NetworkOf(r *command.Running) task.Network {
	if n := r.Network(); n != nil {
		return n
	}
	return nil
}

// Release deletes the output.
func (e *taskJob) Release() { _ = e.output.Remove() }

// firstNotes returns the first notes that together have at most limit bytes. If it
// omits some, it appends a note with their number.
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
