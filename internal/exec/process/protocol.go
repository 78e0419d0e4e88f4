package process

import (
	"encoding/json"
	"time"
)

// controlFD is the supervisor's end of the socket to the server. Messages are JSON,
// one per line. The server first sends a setup. Then it sends a command, with the
// descriptors of its output and, if the message has them, of its input, its errors
// and its network. Then it sends any number of orders to end, or to interrupt the
// command. The end of the stream is an order to end at once.
//
// Once the supervisor has the command, it uses only read and write: its confinement
// may forbid sendmsg and similar calls.
const controlFD = 3

// order is a message of the server.
type order struct {
	Setup *setup   `json:",omitempty"`
	Run   *command `json:",omitempty"`
	End   *ending  `json:",omitempty"`
	// Interrupt sends SIGINT to the command and its process group.
	Interrupt bool `json:",omitempty"`
}

// setup describes what a supervisor prepares before it is ready.
type setup struct {
	Tier   Tier
	Cgroup string // folder of the command's cgroup, with Tier Cgroup
	// Spawner makes the process the spawner of supervisors instead.
	Spawner bool `json:",omitempty"`
}

// maxFiles is the maximum number of descriptors that come with a command.
const maxFiles = 4

// command is a Spec without its files.
type command struct {
	Args, Env []string
	Dir       string
	Confine   json.RawMessage `json:",omitempty"`
	Grace     time.Duration
	Input     bool          `json:",omitempty"` // a descriptor for standard input follows that of the output
	Errors    bool          `json:",omitempty"` // a descriptor for standard error follows
	Terminal  *TerminalSize `json:",omitempty"` // it has a terminal, between the descriptors
	Network   bool          `json:",omitempty"` // the descriptor of a network namespace comes last
}

type ending struct{ Grace time.Duration }

// report is a message of the supervisor. It answers a setup with Ready or Failed,
// and a command with Taken, then Started or Failed, then Exit. Before Exit, it
// answers each order to interrupt with Interrupted.
type report struct {
	Ready   bool     `json:",omitempty"`
	Taken   bool     `json:",omitempty"` // until it is sent, no code of the command has run
	Started *started `json:",omitempty"`
	Failed  *failure `json:",omitempty"`
	// Interrupted reports that SIGINT is pending for the processes, or was received.
	Interrupted bool  `json:",omitempty"`
	Exit        *Exit `json:",omitempty"`
}

type started struct{ PID int } // in the supervisor's PID namespace

// failure is the reason why a setup or a start failed.
type failure struct {
	Text string
	// Refused reports that the system lacks or forbids something that a tier needs,
	// so that another tier should be tried. It is false for temporary failures.
	Refused bool
}

func (f *failure) Error() string { return f.Text }
