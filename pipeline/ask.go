package pipeline

import (
	"context"
	"encoding/json"
)

// Question is what a person is asked about a call.
type Question struct {
	Tool   string          // its name
	Title  string          // what the call does, in one line
	Dir    string          // folder in which it runs
	Input  json.RawMessage // all of it, as it will run
	Reason string          // why somebody has to agree
	Always string          // what "always" would remember; "": only once is on offer

	// Kept is what was decided before the question was put. Where the answer
	// comes with another request, that has it as Request.Resumed. Its owner
	// must not change it any more.
	Kept any
}

// Reply is a person's answer, as the client tells it.
type Reply struct {
	Allow  bool   // the call may run
	Always bool   // and what Question.Always says is to be remembered; only with Allow
	How    string // one of the constants below
}

// How a question ended. Only Accepted allows.
const (
	Accepted  = "accepted"
	Declined  = "declined"
	Cancelled = "cancelled" // put aside without an answer
	TimedOut  = "timed out"
	NoAnswer  = "no answer" // the client failed, or said what is no answer
)

// Asker puts a question to the client's user and waits for the answer. It fails
// with the cause when ctx ends first, and with an *InputRequired where the
// answer can only come with another request.
type Asker func(ctx context.Context, q Question) (Reply, error)

// InputRequired is the error of an Asker that cannot wait. The call ends with
// it, unchanged, and without having run; the client sends the call once more
// with State and the answer.
type InputRequired struct {
	Question Question
	State    string // opaque, sealed by whoever made it
}

func (e *InputRequired) Error() string {
	return "the client has to send the call again with its user's answer"
}
