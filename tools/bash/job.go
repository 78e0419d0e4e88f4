package bash

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/internal/exec/spool"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/internal/text/terminal"
)

// job adapts a running command to a task.
type job struct {
	*command.Running
	tool    string // name of the tool that started it
	command string
	answers *shellsafe.Analysis // decides whether exit code 1 is a result rather than a failure
	grace   time.Duration
	limit   time.Duration          // the timeout that ended it, if any
	input   *os.File               // write end of its standard input; nil: it has none
	screen  *terminal.Emulator     // nil: it has no terminal
	left    bool                   // whether it was to run outside the sandbox
	stopper atomic.Pointer[string] // who stopped it; nil: nobody
}

var _ task.Job = (*job)(nil)

// Kind returns the kind of task.
func (j *job) Kind() string { return "shell" }

// Title returns the first line of the command, truncated to 200 bytes.
func (j *job) Title() string {
	const longest = 200
	line, _, more := strings.Cut(strings.TrimSpace(j.command), "\n")
	if line = plain.Line(line); len(line) > longest {
		line, more = strings.ToValidUTF8(line[:longest], ""), true
	}
	if more {
		line += " ..."
	}
	return line
}

// Output returns the output log of the command.
func (j *job) Output() *spool.Log { return j.Running.Output }

// Stop ends the process tree of the command.
func (j *job) Stop(why string) error {
	j.stopper.CompareAndSwap(nil, &why)
	return j.End(command.Stopped, j.grace)
}

// discard ends the command and deletes its output. If the command cannot be ended now,
// discard returns and deletes the output once it ends.
func (j *job) discard(why command.EndReason) {
	_ = j.CloseInput()
	if j.End(why, j.grace) == nil {
		j.Release()
		return
	}
	go func() {
		<-j.Done()
		j.Release()
	}()
}

// Release deletes the output.
func (j *job) Release() { _ = j.Running.Output.Remove() }

// Status returns the current state of the command, or how it ended.
func (j *job) Status() task.Status {
	select {
	case <-j.Done():
	default:
		return task.Status{State: task.Running, Detail: "running", Started: j.Started}
	}
	r := j.Result()
	s := task.Status{Started: j.Started, Ended: r.Ended, Notes: j.notes(r)}
	if printed, stored := j.Output().Bytes(); j.Output().Missing() > 0 {
		s.Notes = append(s.Notes, notStored(printed, stored, j.full()))
	}
	s.State, s.Detail = j.ending(r)
	if r.Lost == nil && r.Signal == 0 {
		s.Code, s.Exited = r.Code, true
	}
	return s
}

// failed reports whether the command failed.
func (j *job) failed(r command.Result) bool {
	state, _ := j.ending(r)
	return state != task.Completed
}

// ending returns the state of an ended command and one line that describes it.
func (j *job) ending(r command.Result) (task.State, string) {
	switch r.EndReason {
	case command.Timeout:
		return task.TimedOut, fmt.Sprintf("timed out after %s and was stopped", seconds(j.limit))
	case command.Quota:
		return task.Stopped, "stopped: " + spool.ErrTaskQuota.Error()
	case command.Stopped:
		if why := j.stopper.Load(); why != nil {
			return task.Stopped, "stopped by " + *why
		}
		return task.Stopped, "stopped by TaskStop"
	case command.Cancelled:
		return task.Stopped, "cancelled"
	case command.Closing:
		return task.Stopped, "stopped: the server is ending"
	}
	switch {
	case r.Lost != nil:
		return task.Failed, "lost: " + plain.Line(r.Lost.Error())
	case r.Signal != 0:
		return task.Failed, "ended by signal " + DescribeSignal(r.Signal)
	case r.Code == 0, shellsafe.ResultExit(j.answers, r.Code) && !j.cdFailed(r):
		return task.Completed, fmt.Sprintf("exit code %d", r.Code)
	}
	return task.Failed, fmt.Sprintf("exit code %d", r.Code)
}

// cdFailed reports whether a command that begins with cd ended in the folder where it
// started. Then the cd is what failed, and its exit code is no result.
func (j *job) cdFailed(r command.Result) bool {
	return j.Running != nil && r.Dir == j.Running.From() && len(j.answers.Commands) > 1 && j.answers.Commands[0].Name == "cd"
}

// full returns why no more of the output is stored.
func (j *job) full() string {
	switch err := j.Running.Output.Err(); {
	case errors.Is(err, spool.ErrTaskQuota), errors.Is(err, spool.ErrAllQuota):
		return err.Error()
	case err != nil:
		var file *fs.PathError
		if errors.As(err, &file) {
			err = file.Err // the name of the file does not matter
		}
		return "the state folder of the server takes no more (" + plain.Line(err.Error()) + "); ask the user to free space there"
	}
	return "its output could not be stored"
}

// DescribeSignal returns the number of a signal and its name, if it has one.
func DescribeSignal(s syscall.Signal) string {
	if name := signalName(s); name != "" {
		return fmt.Sprintf("%d (%s)", int(s), name)
	}
	return fmt.Sprint(int(s))
}

func seconds(d time.Duration) string {
	return strings.TrimSuffix(fmt.Sprintf("%.3g", d.Seconds()), ".0") + " s"
}

// notes returns further facts on how the command ended, one per line of the answer.
func (j *job) notes(r command.Result) (notes []string) {
	if r.Left > 0 {
		names := strings.Join(r.Leftover, ", ")
		if more := r.Left - len(r.Leftover); more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		notes = append(notes, fmt.Sprintf("it left processes running, which were ended: %s; use %s with run_in_background for what is to go on", names, j.tool))
	}
	if r.Stuck {
		notes = append(notes, "something that it started hangs in the system and could not be ended")
	}
	if r.Cut {
		notes = append(notes, "another process still has its output, so its end may be missing")
	}
	for _, fact := range r.Blocked {
		notes = append(notes, "sandbox: "+plain.Line(fact))
	}
	for _, fact := range r.Unreached {
		notes = append(notes, "network: "+plain.Line(fact))
	}
	for _, fact := range r.Restored {
		notes = append(notes, "sandbox: "+fact)
	}
	for _, name := range r.Removed {
		notes = append(notes, "sandbox: "+plain.Line(name)+" is protected; what the command made there was moved to "+plain.Line(r.Quarantine)+". If it was intended, ask the user to move it back")
	}
	for _, name := range r.Appeared {
		notes = append(notes, "sandbox: "+plain.Line(name)+" is protected and is new here; git tracks it, so it stays. Ask the user to look at it before an editor or agent opens the folder")
	}
	return notes
}
