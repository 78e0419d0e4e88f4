package pipeline

import (
	"context"
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"

	faults "mcp-toolset/internal/text/fault"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// refusal is the reason why a call did not run: the stage that stopped it, one
// fact and one next step.
type refusal struct {
	stage string // stageInvalid, stageRefused, "failed" or "cancelled"
	fact  string
	next  string
}

// Stages of refusals that the code compares with: before the policy decides,
// and by the policy.
const (
	stageInvalid = "invalid input"
	stageRefused = "refused by policy"
)

func (r *refusal) Error() string {
	text := r.stage + ": " + r.fact
	if r.next != "" {
		text += ". " + r.next
	}
	return text
}

// invalid returns the refusal of input that cannot be parsed or is not valid.
func invalid(err error) *refusal {
	var f *tools.Fault
	if errors.As(err, &f) {
		return &refusal{stageInvalid, f.Fact, f.Next}
	}
	return &refusal{stageInvalid, err.Error(), ""}
}

// refused returns the refusal of a call that the policy does not allow.
func refused(d policy.Decision) *refusal {
	fact := d.Reason
	if d.Behavior == policy.Ask {
		fact += ", and the user cannot be asked here"
	}
	return &refusal{stageRefused, fact, sentence(d.Next)}
}

// sentence turns a phrase into a sentence. It returns "" for "".
func sentence(phrase string) string {
	r, size := utf8.DecodeRuneInString(phrase)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(r)) + phrase[size:] + "."
}

// refuse records the refusal and returns it as the answer.
func (c *call) refuse(r *refusal) *tools.Response {
	c.record.stage, c.record.fact = r.stage, r.fact
	c.Log.Debug("call not done", "tool", c.tool.Name, "stage", r.stage, "fact", r.fact)
	text := c.shown(fmt.Sprintf("%s: %s", c.tool.Name, r.Error()))
	return &tools.Response{Content: []tools.Content{tools.Text{Text: text}}, Failed: true}
}

// ErrStopped is the cancellation cause of a call that the user has stopped.
var ErrStopped = errors.New("the user has stopped this call")

// toRefusal turns an error of any stage into a refusal.
func toRefusal(ctx context.Context, err error) *refusal {
	var r *refusal
	var burst *BatchFailed
	switch {
	case errors.As(err, &r):
		return r
	case errors.Is(err, ErrStopped):
		return &refusal{stage: "cancelled", fact: ErrStopped.Error(), next: "Ask the user before you send it again."}
	case errors.As(err, &burst):
		return &refusal{stage: "cancelled", fact: burst.Error(), next: "Look at what failed, then send this call again if it still makes sense."}
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))):
		return &refusal{stage: "cancelled", fact: "the call was cancelled"}
	case faults.Descriptors("", err) != nil:
		f := faults.Descriptors("the call could not go on", err)
		return &refusal{stage: "failed", fact: f.Fact, next: f.Next}
	default:
		return &refusal{stage: "failed", fact: err.Error()}
	}
}
