// Package task is the registry of background tasks: their owners, ids and retention.
//
// Tasks to forget are found when tasks are queried or added, and when their owner ends.
package task

import (
	"context"
	"net"
	"time"

	"mcp-toolset/internal/exec/spool"
	"mcp-toolset/internal/text/terminal"
	"mcp-toolset/session"
)

// Job is a running job, made by the tool of its kind. It must be safe for concurrent use and must
// not call the registry.
type Job interface {
	// Kind returns the kind of the job, such as "shell".
	Kind() string
	// Title returns one line for a list, such as the command.
	Title() string
	// Done returns a channel that is closed once the job has ended, nothing of it is left, and its
	// log is done.
	Done() <-chan struct{}
	// Status returns the present status: Running until Done is closed, then the final one.
	Status() Status
	// Stop ends all of the job and waits for its end. why names who ends it, such as "TaskStop".
	// Stop has no effect on a job that has ended.
	Stop(why string) error
	// Output returns the output log of the job. It is never nil.
	Output() *spool.Log
	// Release is called once, when the job has ended and is forgotten. The job may then remove what
	// it stores. A reader may still be reading the output.
	Release()
}

// Receiver is a job that takes input while it runs.
type Receiver interface {
	Job
	// Send writes input, and returns how much of it the job has taken. It waits for the job to
	// take it until ctx ends. It fails with os.ErrClosed if the input is closed.
	Send(ctx context.Context, input []byte) (n int, err error)
	// HasInput reports whether the job was started with an input.
	HasInput() bool
	// CloseInput ends the input.
	CloseInput() error
	// Terminal returns the terminal of the job, or nil if it has none.
	Terminal() *terminal.Emulator
	// Containment reports whether a sandbox limits what the input can do and, if none does,
	// whether the job was started outside of it on request.
	Containment() (contained, left bool)
}

// Server is a job that may listen on TCP ports in the network of its session.
type Server interface {
	Job
	// Network returns the network, or nil if the job has that of this machine or has ended.
	Network() Network
}

// Network is the network of a job that runs.
type Network interface {
	// Listening returns the ports on which processes of the job listen, sorted.
	Listening(ctx context.Context) ([]uint16, error)
	// Dial connects to a port of the loopback interface.
	Dial(ctx context.Context, port uint16) (net.Conn, error)
}

// State is the state of a job.
type State string

// The states of a job. All but Running are final.
const (
	Running   State = "running"
	Completed State = "completed" // ended by itself, with success
	Failed    State = "failed"    // ended by itself, without success
	Stopped   State = "stopped"   // ended by a client or the server
	TimedOut  State = "timed out" // ended by its timeout
)

// Status describes the state of a job.
type Status struct {
	State  State
	Code   int  // the exit code, if Exited
	Exited bool // whether it ended with an exit code
	// Detail is one line for a model, such as "exit code 3" or "stopped by TaskStop".
	Detail string
	Notes  []string // further facts known at the end, one line each

	Started time.Time
	Ended   time.Time // zero while it runs
}

// Task is a job with its id.
type Task struct {
	ID string // six characters; only the owner can use it
	Job

	owner   session.Owner
	started time.Time
	ended   time.Time // time of the end; zero until the registry has seen it
	seen    bool      // see Registry.Seen
	byUser  bool      // see Registry.Stop
}

// Source returns the source of the events of the task.
func (t *Task) Source() string { return "task " + t.ID }

// Owner returns the owner of the task.
func (t *Task) Owner() session.Owner { return t.owner }
