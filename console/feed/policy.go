package feed

import (
	"context"
	"encoding/json"

	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/text/plain"
)

// Policy holds the rules and answers that decide on calls.
type Policy struct {
	Mode     string    `json:"mode"`
	Rules    []Rule    `json:"rules"`
	Always   []Always  `json:"always"`
	Declined []Decline `json:"declined"`
	Problem  string    `json:"problem"` // why Always is empty; may be ""
}

// Always is a permission that the user gave for good.
type Always struct {
	Number int      `json:"number"`
	Tool   string   `json:"tool"`
	Text   string   `json:"text"`
	Roots  []string `json:"roots"`
	When   int64    `json:"when"`
}

// Decline is a refusal of the user, for a session.
type Decline struct {
	Number int    `json:"number"`
	Tool   string `json:"tool"`
	Text   string `json:"text"`
	When   int64  `json:"when"`
	Wrote  string `json:"wrote"` // the user's reason; may be ""
}

func (l *Local) policy(context.Context, struct{}) (any, error) {
	p := Policy{Mode: l.Mode, Rules: []Rule{}, Always: []Always{}, Declined: []Decline{}}
	if l.Rules != nil {
		p.Rules = append(p.Rules, l.Rules()...)
	}
	if l.Always != nil {
		entries, err := l.Always()
		if err != nil {
			p.Problem = plain.Line(err.Error())
		}
		for _, e := range entries {
			p.Always = append(p.Always, Always{e.Number, e.Tool, approval.SubjectText(e.Tool, e.Subject), append([]string{}, e.Roots...), ms(e.When)})
		}
	}
	for _, d := range l.Approvals.Refusals() {
		p.Declined = append(p.Declined, Decline{d.Number, d.Tool, approval.SubjectText(d.Tool, d.Subject), ms(d.Since), d.Wrote})
	}
	return p, nil
}

// Settings identifies the settings that hold in a server.
type Settings struct {
	Process   int      `json:"process"`
	Name      string   `json:"name"`   // the roots of the server
	Places    []string `json:"places"` // the paths of their files, whether they exist or not
	Digest    string   `json:"digest"` // of the contents of the files, and of which apply
	Since     int64    `json:"since"`
	NeedStart []string `json:"needStart"` // keys whose new values hold after a new start
	Problem   string   `json:"problem"`   // why newer ones do not hold; "" if they do
}

func (l *Local) settings(context.Context, struct{}) (any, error) {
	if l.Settings == nil {
		return nil, missing("the server keeps the settings of its start", "Restart it after a change.")
	}
	s := l.Settings()
	s.Process, s.Name = l.Process, l.Name
	return s, nil
}

type explained struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

// Explained is the decision on a call that is not made.
type Explained struct {
	Decision string `json:"decision"`
	Text     string `json:"text"` // as `policy explain` prints it
}

func (l *Local) explain(ctx context.Context, q explained) (any, error) {
	if q.Tool == "" {
		return nil, Invalid("the tool is missing", "Name one, such as Bash.")
	}
	var object map[string]json.RawMessage
	if len(q.Input) == 0 {
		q.Input = json.RawMessage("{}")
	}
	if err := json.Unmarshal(q.Input, &object); err != nil || object == nil {
		return nil, Invalid("the input is not a JSON object", `Write one, such as {"command": "ls"}.`)
	}
	if l.Explain == nil || l.Describe == nil {
		return nil, missing("the server explains no calls", "Use mcp-toolset policy explain.")
	}
	e := l.Explain(ctx, "", q.Tool, q.Input)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return Explained{e.Decision.Behavior.String(), l.Describe(e)}, nil
}
