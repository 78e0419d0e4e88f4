package pipeline

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"

	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// refusal is why a call was not done: the stage that stopped it, one fact, one
// next step.
type refusal struct {
	stage string // stageInvalid, "refused by policy", "failed", "cancelled"
	fact  string
	next  string
}

// The stages of refusals that are more than words: before the policy is asked,
// and by it.
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

// invalid is the refusal of input that does not parse or validate.
func invalid(err error) *refusal {
	var f *tools.Fault
	if errors.As(err, &f) {
		return &refusal{stageInvalid, f.Fact, f.Next}
	}
	return &refusal{stageInvalid, err.Error(), ""}
}

// refused is the refusal of a call that the policy does not allow.
func refused(d policy.Decision) *refusal {
	fact := d.Reason
	if d.Behavior == policy.Ask {
		fact += ", and nobody can be asked here"
	}
	return &refusal{stageRefused, fact, sentence(d.Next)}
}

// sentence makes a sentence of a phrase, "" of none.
func sentence(phrase string) string {
	r, size := utf8.DecodeRuneInString(phrase)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(r)) + phrase[size:] + "."
}

// refuse answers the call with a refusal.
func (c *call) refuse(r *refusal) *tools.Response {
	c.record.stage, c.record.fact = r.stage, r.fact
	c.Log.Debug("call not done", "tool", c.tool.Name, "stage", r.stage, "fact", r.fact)
	text := fmt.Sprintf("%s: %s", c.tool.Name, r.Error())
	return &tools.Response{Content: []tools.Content{tools.Text{Text: text}}, Failed: true}
}
