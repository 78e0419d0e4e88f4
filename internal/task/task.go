// Package task is the registry of what runs in the background: who started it,
// under which name it is asked for, and how long it is remembered.
//
// What is to be forgotten is found when something is asked for or added, or when its
// owner is gone.
package task

import (
	"time"

	"mcp-toolset/internal/spool"
	"mcp-toolset/session"
)

// Job is what runs, made by the tool of its kind. It is safe for concurrent use
// and never calls the registry.
type Job interface {
	// Kind is what sort of job it is, such as "shell".
	Kind() string
	// Title is one line for a list, such as the command.
	Title() string
	// Done is closed when the job has ended, nothing of it is left and its log is
	// done.
	Done() <-chan struct{}
	// Status is how it is now: Running until what Done tells of is so, then final.
	Status() Status
	// Stop ends all of the job and waits for that. why says who does it, such as
	// "TaskStop". Of a job that has ended it changes nothing.
	Stop(why string) error
	// Output is what the job prints, never nil.
	Output() *spool.Log
	// Release is called once, when the job has ended and is forgotten: what it
	// keeps may go. A reader may still be at the output.
	Release()
}

// State is how a job is, in a word.
type State string

// The states of a job: all but Running are final.
const (
	Running   State = "running"
	Completed State = "completed" // it ended by itself, and well
	Failed    State = "failed"    // it ended by itself, not well
	Stopped   State = "stopped"   // somebody ended it
	TimedOut  State = "timed out" // it was ended because its time was over
)

// Status is how a job is.
type Status struct {
	State  State
	Code   int  // the exit code, if Exited
	Exited bool // it ended with an exit code
	// Detail is one line for a model, such as "exit code 3" or "stopped by
	// TaskStop".
	Detail string
	Notes  []string // further facts known at the end, a line each

	Started time.Time
	Ended   time.Time // zero while it runs
}

// Owner is whom a task belongs to: nobody else sees it.
type Owner struct {
	Principal string
	Session   string // "": all conversations of the principal that have no session
}

// OwnerOf is who owns what a call of a session starts. A stateless request has
// no conversation that a later one could belong to, so there the principal owns.
func OwnerOf(v session.View) Owner {
	if v.Stateless {
		return Owner{Principal: v.Principal}
	}
	return Owner{Principal: v.Principal, Session: v.ID}
}

// Task is a job under the name it is asked for by.
type Task struct {
	ID string // six characters; only the owner can use it
	Job

	owner   Owner
	started time.Time
	ended   time.Time // when it ended; zero until the registry has seen that
}
