package pipeline

import (
	"context"
	"encoding/json"
	"errors"

	"mcp-toolset/internal/approval"
	"mcp-toolset/internal/hook"
	"mcp-toolset/tools"
)

// Question is what a person is asked about a call.
type Question struct {
	Tool    string          // its name
	Title   string          // what the call does, in one line
	Dir     string          // folder in which it runs
	Input   json.RawMessage // all of it, as it will run
	Preview tools.Preview   // what it would change; empty: Input shows that
	Reason  string          // why somebody has to agree
	Opens   string          // what the call may use beyond the workspace if it is allowed; "": nothing
	Always  string          // what "always" also allows, as "future ..."; "": only once is on offer
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

// InputRequired is the error of Request.Ask and Request.Elicit where the answer
// can only come with another request. The call ends with it; what it did until
// then leaves nothing in its session, and no hooks run behind it. The client
// sends the call once more with the answer.
type InputRequired struct {
	Question any // as whoever made the error knows it

	// Kept is what was decided of the call so far, for Request.Resumed of the one
	// that is sent again. Nobody may change it any more.
	Kept any
	Size int // of Kept in memory, in bytes, about
}

func (e *InputRequired) Error() string {
	return "the client has to send the call again with its user's answer"
}

// pending reports whether an error is a question that the client has to answer.
func pending(err error) bool {
	var needed *InputRequired
	return errors.As(err, &needed)
}

// before is what was settled before a call runs: what hooks said of it, and what
// a person agreed to. A question takes it along, so that neither are asked again
// when the answer comes with another request.
type before struct {
	verdict hook.Verdict
	input   json.RawMessage   // as the hooks saw it
	agreed  *approval.Request // nil: nobody has agreed
}

func (b *before) size() int {
	n := len(b.input) + len(b.verdict.UpdatedInput)
	for _, note := range b.verdict.Context {
		n += len(note)
	}
	if b.agreed != nil {
		n += len(b.agreed.Input)
	}
	return n
}

// keep has a question that ends the call take along what was decided.
func (c *call) keep(err error) error {
	var needed *InputRequired
	if errors.As(err, &needed) && c.before != nil {
		needed.Kept, needed.Size = c.before, c.before.size()
	}
	return err
}

// elicit puts a form of another server to the client's user, in the call's place
// and without a slot. What comes of the answer is of this session alone.
func (c *call) elicit(ctx context.Context, f tools.Form) (tools.FormReply, error) {
	c.private.Store(true)
	f.Tool = c.tool.Name
	c.Ticket.Yield()
	reply, err := c.Elicit(ctx, f)
	if err != nil {
		return reply, c.keep(err)
	}
	return reply, c.Ticket.Resume(ctx)
}
