// Package process runs a command and ends its whole process tree, including
// processes that went into the background, started a session of their own or lost
// their parent.
//
// Each command has a supervisor, which is this program started again (Serve). The
// supervisor starts the command, adopts and waits for the processes that the
// command leaves, and reports how the command ended. It ends the process tree on
// request, and also when the server ends, for whatever reason. A Runner is the
// server's side. The Tier determines how reliably the whole tree is ended.
//
// A Network is a network namespace for the commands of one session. In the tier
// PIDNamespace one process of this program, the spawner, starts all supervisors and
// makes the networks (spawner_linux.go).
//
// # Details
//
// As many supervisors are ready as the last burst took, one to four, for 30 s
// (reserve.go). Starting one is bounded by 5 s, also before it runs our program: os/exec
// waits there without a limit, and under user emulation (qemu) the child can hang in the
// emulator, holding a lock of a thread that it does not have. A start that runs for 300
// ms has the next ones made on another thread; at its bound the child is killed, and its
// thread ends with the last process it started (fork.go). A supervisor that took a
// command and does not start it within 10 s is killed. It is the first process of a PID
// namespace where possible, and ends when the server does. A stopped supervisor is given
// up after 2 s, a slow one after 10 s. Hooks, classifier, syntax check and document
// process start through internal/exec/launch, with the same bound. Windows: a command is made
// suspended, put into the job object that marks commands of this user (mark_windows.go),
// which shows approvals that it is a command, and into one of its own whose only handle
// the server has.
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

// Arg is the only argument of a supervisor. A program that is started with it must
// call Serve and do nothing else.
const Arg = "supervise-command"

// Timeouts and limits.
const (
	// settle is the time that processes still running at the exit of the command
	// have to end by themselves. Then they count as left over. The other end of a
	// pipeline or of a process substitution often ends a moment later.
	settle = 100 * time.Millisecond
	// killWait is the timeout for killed processes to disappear on a machine that
	// is not busy. Processes that hang in the kernel, in a file system that does
	// not answer, are left to the kernel.
	killWait = 5 * time.Second
	// answerWait is the time without an answer after which the server looks at a
	// supervisor. It gives up a stopped supervisor at once and any other after
	// slack: on a busy machine it may just be slow.
	answerWait = 2 * time.Second
	// startWait is the timeout for a supervisor to report ready.
	startWait = 5 * time.Second
	// hangWait is the longest time for which the start of one process delays other
	// starts.
	hangWait = 300 * time.Millisecond
	// burstGap is the time without a command that ends a burst. spareTime is the
	// time without a command after which at most Config.Spares supervisors stay
	// ready.
	burstGap  = time.Second
	spareTime = 30 * time.Second
	// slack is the additional time that operations get on a busy machine.
	slack = 10 * time.Second
	// maxNamed is the limit of processes left over that are named, and maxName the
	// limit of each name in characters.
	maxNamed = 10
	maxName  = 80
	// maxWords is the limit of a supervisor's standard error that is stored, in
	// bytes.
	maxWords = 2 << 10
)

// ErrClosed is the error of Start after Close.
var ErrClosed = errors.New("the server is ending and starts no more commands")

// Config configures a Runner.
type Config struct {
	// Spares is the number of supervisors kept ready for future commands, so that a
	// command need not wait for this program to start (some 10 ms). The first ones
	// are started after the first command.
	Spares int
	// MaxSpares is the limit of supervisors kept ready after a burst of commands,
	// until spareTime passes without a command. Values below Spares mean Spares.
	MaxSpares int
	// Tiers lists the tiers to choose from; the Runner uses the best that works.
	// Empty: all tiers of the system. It is for tests and experts.
	Tiers []Tier
	Log   *slog.Logger // events of supervisors, at debug level; nil: no log
}

// Spec describes a command to run.
type Spec struct {
	// Args holds the path of the program, which is not searched for in PATH, and
	// its arguments.
	Args []string
	// Env is the complete environment.
	Env []string
	// Dir is the working directory, an absolute path.
	Dir string
	// Confine is passed to Serve's confine in the supervisor before the command
	// starts. nil: confine is not called.
	Confine json.RawMessage
	// Output takes standard output and standard error alike, so that the order
	// of writes is preserved. It is the write end of a pipe. Start always closes it.
	Output *os.File
	// Input is the read end of a pipe for standard input; nil: the input is empty.
	// Errors is a separate pipe for standard error; nil: it goes to Output. Start
	// closes both, except if it fails with ErrNetworkGone.
	Input, Errors *os.File
	// Terminal gives the command a terminal of its own, of this size, as standard input, output
	// and error. Its output goes to Output, and Input, which is required, is typed into it. It
	// needs Linux, and Confine must give the command a /dev/pts of its own. nil: none.
	Terminal *TerminalSize
	// Network is the network of the command; nil: that of the server. Start fails with
	// ErrNetworkGone if it is gone.
	Network *Network
	// Grace is the time that processes left over at the exit of the command have to
	// end after being asked to. Then they are killed.
	Grace time.Duration
}

// TerminalSize is the size of a terminal.
type TerminalSize struct{ Columns, Rows uint16 }

// files returns the files that are passed to the supervisor, in the order of the
// protocol.
func (spec *Spec) files() []*os.File {
	return slices.DeleteFunc([]*os.File{spec.Output, spec.Input, spec.Errors}, func(f *os.File) bool { return f == nil })
}

func (spec *Spec) closeFiles() {
	for _, f := range spec.files() {
		_ = f.Close()
	}
}

// Exit describes how a command ended.
type Exit struct {
	Code   int            // exit code, including 126 and 127; -1 if a signal ended it
	Signal syscall.Signal // the signal that ended it; 0: none
	Core   bool           // whether the system reports a core dump
	// Leftover describes the processes that still ran when the command had exited,
	// at most ten: each by its name or, if that adds something, the beginning of
	// its command line. All of them were ended; Left is their number.
	Leftover []string
	Left     int
	// Ended reports that End, Close or the end of the Runner ended the command. It
	// is false if the command ended by itself or by an unrelated signal.
	Ended bool
	// Stuck reports that some process could not be ended because it hangs in the
	// kernel.
	Stuck bool
	// Lost is set if the supervisor ended before it saw the end of the command, for
	// example killed by the user or for lack of memory. Nothing else is known then,
	// but all processes that the tier reaches were ended.
	Lost  error
	Usage Usage
}

// Usage is the resource usage of a command and of all processes it started, as far
// as their end was seen.
type Usage struct {
	User, System time.Duration // processor time
	// MaxRSS is the largest memory use of a single process, in bytes. It is at
	// least the memory of the supervisor at the start of the command.
	MaxRSS int64
}
