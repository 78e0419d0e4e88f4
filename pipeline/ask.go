package pipeline

import (
	"context"
	"encoding/json"
	"errors"

	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/consent/hook"
	"mcp-toolset/tools"
)

// Question describes a call to the user who is to approve it.
type Question struct {
	Tool    string          // name of the tool
	Title   string          // one line that describes the call
	Subject string          // the thing itself: the command, the path, the address; "": the input
	Part    string          // of a command: the part that needs the approval; "": all or not known
	Dir     string          // folder in which the call runs
	Input   json.RawMessage // the whole input, as the call will use it
	Preview tools.Preview   // what the call would change; if empty, show Input
	Reason  string          // why the call needs approval
	Opens   string          // access beyond the workspace that an approval grants; "": none
	Further string          // what an approval also allows in this session, as "further ..."; "": nothing
	Always  string          // what "always" also allows, as "future ..."; "": not offered
}

// Reply is the user's answer, as the client reports it.
type Reply struct {
	Allow  bool   // whether the call may run
	Always bool   // whether to remember what Question.Always describes; only with Allow
	How    string // one of the constants below
}

// Values of Reply.How. Only Accepted allows the call.
const (
	Accepted  = "accepted"
	Declined  = "declined"
	Cancelled = "cancelled" // closed without an answer
	TimedOut  = "timed out"
	Unseen    = "unseen"    // the client answered for the user
	NoAnswer  = "no answer" // the client failed, or its reply is not a valid answer
)

// Asker asks the client's user about a call and waits for the answer. If ctx
// ends first, it returns the cause. If the answer can only come with another
// request, it returns an *InputRequired.
type Asker func(ctx context.Context, q Question) (Reply, error)

// InputRequired is the error of Request.Ask and Request.Elicit if the answer
// can only come with another request. It ends the call: the call's effects are
// dropped and no hooks run after it. The client then sends the call again,
// together with the answer.
type InputRequired struct {
	Question any // in the form that the creator of the error uses

	// State holds the decisions made for the call so far. The caller passes it
	// as Request.Resumed when the call is sent again. It must not be modified.
	State any
	Size  int // approximate size of State in memory, in bytes
}

func (e *InputRequired) Error() string {
	return "the client has to send the call again with its user's answer"
}

// pending reports whether err contains an *InputRequired.
func pending(err error) bool {
	var needed *InputRequired
	return errors.As(err, &needed)
}

// before holds the hooks' verdict and the user's approval, which come before
// the call runs. An InputRequired carries it, so that neither is requested
// again when the answer comes with another request.
type before struct {
	verdict hook.Verdict
	input   json.RawMessage   // as the hooks saw it
	agreed  *approval.Request // the approved request; nil: not approved
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

// keep stores the decisions made so far in err if err contains an
// *InputRequired. It returns err.
func (c *call) keep(err error) error {
	var needed *InputRequired
	if errors.As(err, &needed) && c.before != nil {
		needed.State, needed.Size = c.before, c.before.size()
	}
	return err
}

// elicit shows a form to the client's user. While it
// waits, the call retains its place but not its slot. It marks the result as
// private, because the answer is meant for this session only.
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
