// Package process runs a command and ends it with everything that it started,
// also what went into the background, made a session of its own or lost its
// parent.
//
// Each command has a supervisor, which is this program run again (Serve). It
// starts the command, adopts and waits for what the command leaves behind, says
// how it ended, and ends all of it when told to or when the server is gone,
// however that died. A Runner is the server's side. How surely nothing is left
// is the Tier.
package process

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"slices"
	"syscall"
	"time"
)

// Arg is the only argument of a supervisor: a program that is started with it
// calls Serve and does nothing else.
const Arg = "supervise-command"

// Limits of time and number.
const (
	// settle is how long what is still running when the command has exited may
	// take to end by itself before it counts as left over: the other end of a
	// pipeline or of a process substitution is often a moment behind.
	settle = 100 * time.Millisecond
	// killWait is how long what was killed is waited for on a machine that is
	// not busy. What hangs in the kernel, in a file system that does not answer,
	// is left to it.
	killWait = 5 * time.Second
	// answerWait is how long a supervisor may keep its server waiting before it
	// is looked at: one that somebody has stopped is given up then, any other
	// after slack, since on a busy machine it may just be slow.
	answerWait = 2 * time.Second
	// startWait is how long a supervisor may take to be ready.
	startWait = 5 * time.Second
	// hangWait is how long the start of one process may keep others from starting.
	hangWait = 300 * time.Millisecond
	// burstGap is the time without a command after which the next one begins a
	// new burst, and spareTime the one after which no more than Config.Spares
	// supervisors are kept ready.
	burstGap  = time.Second
	spareTime = 30 * time.Second
	// slack is how much longer things may take on a busy machine.
	slack = 10 * time.Second
	// maxNamed is how many processes left over are named, each in at most
	// maxName characters.
	maxNamed = 10
	maxName  = 80
	// maxWords is what is kept of a supervisor's words on its end, in bytes.
	maxWords = 2 << 10
)

// ErrClosed is the error of Start after Close.
var ErrClosed = errors.New("the server is ending and starts no more commands")

// Config is what a Runner needs to know.
type Config struct {
	// Spares is how many supervisors are kept ready for commands to come, so
	// that a command does not wait for this program to start (some 10 ms). The
	// first are started behind the first command.
	Spares int
	// MostSpares is how many are kept ready after that many commands came in short
	// order, until a time without a command. 0: Spares.
	MostSpares int
	// Tiers are the ways of ending to choose from; the best that works is
	// taken. None: all. It is for tests and for those who know better.
	Tiers []Tier
	Log   *slog.Logger // what becomes of supervisors, at debug level; nil: nowhere
}

// Spec is a command to run.
type Spec struct {
	// Args are the path of the program, which is not searched for, and its
	// arguments.
	Args []string
	// Env is the whole environment.
	Env []string
	// Dir is the working directory, an absolute path.
	Dir string
	// Confine is handed to Serve's confine in the supervisor before the command
	// starts; nil: confine is not called.
	Confine json.RawMessage
	// Output takes standard output and standard error alike, so that the order
	// of writing is kept: the write end of a pipe. Start closes it in any case.
	Output *os.File
	// Input is standard input: the read end of a pipe. nil: there is none to
	// read. Errors takes standard error apart from Output; nil: it does not. Start
	// closes both in any case.
	Input, Errors *os.File
	// Grace is how long what is left over when the command has exited, and was
	// told to end, may take before it is killed.
	Grace time.Duration
}

// files are those that the supervisor is handed, in the order that it knows.
func (spec *Spec) files() []*os.File {
	return slices.DeleteFunc([]*os.File{spec.Output, spec.Input, spec.Errors}, func(f *os.File) bool { return f == nil })
}

func (spec *Spec) closeFiles() {
	for _, f := range spec.files() {
		_ = f.Close()
	}
}

// Exit is how a command ended.
type Exit struct {
	Code   int            // exit code, 126 and 127 as any other; -1 if a signal ended it
	Signal syscall.Signal // the signal that ended it; 0: none
	Core   bool           // the system says that a core was written
	// Leftover names what was still running when the command had exited, at
	// most ten, each by its name and, if that says more, the begin of its
	// command line. All of it was ended; Left is how many there were.
	Leftover []string
	Left     int
	// Ended says that the command ended because of End, Close or the Runner's
	// end, as opposed to by itself or by a stranger.
	Ended bool
	// Stuck says that something could not be ended: it hangs in the kernel.
	Stuck bool
	// Lost is set if the supervisor ended before the command was seen to end,
	// for example killed by a person or for lack of memory: nothing else is
	// known then, but all that the tier reaches was ended.
	Lost  error
	Usage Usage
}

// Usage is what a command and all it started took, as far as they have ended
// in a way that was seen.
type Usage struct {
	User, System time.Duration // processor time
	// MaxRSS is the most memory that one of the processes held, in bytes, but at
	// least what the supervisor held when it started the command.
	MaxRSS int64
}
