package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/consent/question"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
)

// answers maps requests to the functions that answer them.
var answers = map[string]func(l *Local, ctx context.Context, params json.RawMessage) (any, error){
	"approval": typed((*Local).approval), "decide": typed((*Local).decide), "reply": typed((*Local).reply),
	"task": typed((*Local).taskOutput), "stop": typed((*Local).stop),
	"session": typed((*Local).session), "change": typed((*Local).change), "undo": typed((*Local).undo),
	"policy": typed((*Local).policy), "settings": typed((*Local).settings), "explain": typed((*Local).explain), "suggest": typed((*Local).suggest),
	"audit": typed((*Local).audit),
}

// typed makes an answer of a function with parameters of a type.
func typed[P any](f func(*Local, context.Context, P) (any, error)) func(*Local, context.Context, json.RawMessage) (any, error) {
	return func(l *Local, ctx context.Context, raw json.RawMessage) (any, error) {
		var p P
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, Invalid("the request cannot be read: "+plain.Line(err.Error()), "Reload the page.")
		}
		return f(l, ctx, p)
	}
}

// Done is the answer to a request that changes something.
type Done struct {
	Text string `json:"text"` // the change, as a sentence
}

type number struct {
	Number int `json:"number"`
}

// Shown is an approval with everything that the answer is bound to.
type Shown struct {
	Approval
	Input   string `json:"input"` // JSON, byte for byte
	Preview string `json:"preview"`
	Partial bool   `json:"partial"`
	Command []Part `json:"command"`
	Kind    string `json:"kind"` // "diff", "command", "input" or "questions"
}

// Part is one part of a command.
type Part struct {
	Text          string `json:"text"`
	NeedsApproval bool   `json:"needsApproval"`
	Why           string `json:"why"`
}

func (l *Local) approval(ctx context.Context, p number) (any, error) {
	items := l.Approvals.Items(p.Number)
	if p.Number <= 0 || len(items) == 0 {
		return nil, missing(fmt.Sprintf("approval %d does not wait any more", p.Number), "Look at the list of approvals.")
	}
	i := items[0]
	s := Shown{Approval: approvalOf(i), Input: string(i.Input), Preview: i.Preview, Partial: i.Partial, Kind: "input"}
	switch {
	case i.Questions != nil:
		s.Kind = "questions"
	case i.Preview != "":
		s.Kind = "diff"
	case i.Subject.Kind == "command":
		s.Kind, s.Command = "command", l.commandParts(ctx, i)
	}
	return s, nil
}

// commandParts returns the parts of a command. Those that need the approval are marked.
func (l *Local) commandParts(ctx context.Context, i approval.Item) (out []Part) {
	if l.Explain == nil {
		return nil
	}
	e := l.Explain(ctx, i.Dir, i.Tool, i.Input)
	marked := map[int]bool{}
	for _, n := range e.Deciding {
		marked[n] = true
	}
	for n, d := range e.Parts {
		p := Part{Text: d.Text, NeedsApproval: marked[n], Why: d.Reason}
		if where := d.Location(); marked[n] && d.Behavior == policy.Allow {
			p.Why = i.Reason // by itself the part would be allowed
		} else if where != "" {
			p.Why = fmt.Sprintf("%s (%s of %s)", d.Reason, d.Rule, where)
		}
		out = append(out, p)
	}
	// Something other than a part may need the approval, such as a redirection.
	if len(out) > 0 && !slices.ContainsFunc(out, func(p Part) bool { return p.NeedsApproval }) {
		whole := Part{i.Subject.Value, true, i.Reason}
		if len(out) == 1 {
			return []Part{whole}
		}
		out = append(out, whole)
	}
	return out
}

type decision struct {
	Number int    `json:"number"`
	Key    string `json:"key"`
	Do     string `json:"do"`
	Reason string `json:"reason"`
}

func (l *Local) decide(_ context.Context, d decision) (any, error) {
	if d.Key == "" || d.Number <= 0 {
		return nil, Invalid("the decision has no number or no key of an approval", "Reload the page.")
	}
	title := fmt.Sprintf("approval %d", d.Number)
	if items := l.Approvals.Items(d.Number); len(items) == 1 {
		title = plain.Line(approval.CallText(items[0]))
	}
	var err error
	text := ""
	switch d.Do {
	case "once":
		err = l.Approvals.Approve(d.Number, d.Key, false)
		text = fmt.Sprintf("Approved %d: %s. The same call, sent again in the next %v minutes, runs once.", d.Number, title, approval.GrantedFor.Minutes())
	case "always":
		err = l.Approvals.Approve(d.Number, d.Key, true)
		text = fmt.Sprintf("Approved %d, and always allowed: %s. `mcp-toolset approvals` lists such permissions, and `--forget N` takes one back.", d.Number, title)
	case "deny":
		err = l.Approvals.Deny(d.Number, d.Key, d.Reason)
		text = fmt.Sprintf("Declined %d: %s.", d.Number, title)
	default:
		return nil, Invalid("a decision is once, always or deny", "Reload the page.")
	}
	if err != nil {
		return nil, refusedDecision(err)
	}
	return Done{text}, nil
}

type replied struct {
	Number   int               `json:"number"`
	Key      string            `json:"key"`
	Answers  []question.Answer `json:"answers"`
	Declined bool              `json:"declined"`
}

func (l *Local) reply(_ context.Context, r replied) (any, error) {
	if r.Key == "" || r.Number <= 0 {
		return nil, Invalid("the reply has no number or no key of a question", "Reload the page.")
	}
	if err := l.Approvals.Reply(r.Number, r.Key, question.Reply{Answers: r.Answers, Declined: r.Declined}); err != nil {
		return nil, refusedDecision(err)
	}
	return Done{fmt.Sprintf("Answered %d.", r.Number)}, nil
}

func refusedDecision(err error) *Error {
	if errors.Is(err, approval.ErrChanged) {
		return &Error{http.StatusConflict, plain.Line(err.Error()), "Look at the list of approvals, then decide."}
	}
	return Invalid(plain.Line(err.Error()), "Correct the answer, or use another one.")
}
