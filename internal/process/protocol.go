package process

import (
	"encoding/json"
	"time"
)

// controlFD is the supervisor's end of the socket to the server. Messages are
// JSON, one a line. The server sends a setup, then an order with a command and
// with the descriptors of its output and, if the order says so, of its input and
// of its errors, then any number of orders to end; the end of the stream is an
// order to end at once.
//
// The supervisor only reads and writes after the command is known: what
// confines it may have taken sendmsg and the like.
const controlFD = 3

// order is what the server sends.
type order struct {
	Setup *setup   `json:",omitempty"`
	Run   *command `json:",omitempty"`
	End   *ending  `json:",omitempty"`
}

// setup is what a supervisor does before it is ready.
type setup struct {
	Tier   Tier
	Cgroup string // folder of the command's cgroup, with Tier Cgroup
}

// maxFiles is how many descriptors come with a command.
const maxFiles = 3

// command is a Spec without its files.
type command struct {
	Args, Env []string
	Dir       string
	Confine   json.RawMessage `json:",omitempty"`
	Grace     time.Duration
	Input     bool `json:",omitempty"` // a descriptor for standard input follows that of the output
	Errors    bool `json:",omitempty"` // and one for standard error comes last
}

type ending struct{ Grace time.Duration }

// report is what the supervisor sends: Ready or Failed upon a setup; upon a
// command Taken, then Started or Failed, then Exit.
type report struct {
	Ready   bool     `json:",omitempty"`
	Taken   bool     `json:",omitempty"` // before it, nothing of the command has run
	Started *started `json:",omitempty"`
	Failed  *failure `json:",omitempty"`
	Exit    *Exit    `json:",omitempty"`
}

type started struct{ PID int } // in the supervisor's PID namespace

// failure is why something could not be set up or started.
type failure struct {
	Text string
	// Refused says that the system does not have or allow what a tier needs,
	// so that another tier is the way, as opposed to a failure of the moment.
	Refused bool
}

func (f *failure) Error() string { return f.Text }
