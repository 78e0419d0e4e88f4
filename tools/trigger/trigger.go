// Package trigger provides the tool RemoteTrigger, which creates, lists and deletes webhooks
// of a session.
package trigger

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	triggers "mcp-toolset/internal/event/trigger"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// Options holds the services of the tool.
type Options struct {
	Triggers *triggers.Registry // a call requires it
}

// Input holds the arguments of RemoteTrigger.
type Input struct {
	Action  string `json:"action" enum:"create,list,delete" jsonschema:"What to do"`
	Name    string `json:"name,omitempty" jsonschema:"For create and delete: 1 to 64 letters, digits, - and _"`
	Durable bool   `json:"durable,omitempty" jsonschema:"For create, on an HTTP server: the trigger outlives this session and a restart; default false"`
}

// Output holds the triggers that a call is about.
type Output struct {
	Triggers []Trigger `json:"triggers" jsonschema:"The trigger that was created, or those of the session"`
	Secret   string    `json:"secret,omitempty" jsonschema:"Key for the signatures of a new trigger"`

	text string
}

// Trigger describes a trigger.
type Trigger struct {
	Name     string `json:"name" jsonschema:"Its name"`
	Address  string `json:"address" jsonschema:"Where requests are sent, with POST"`
	Requests int    `json:"requests" jsonschema:"Number of requests that this server accepted"`
	Durable  bool   `json:"durable,omitempty" jsonschema:"It outlives its session and the server"`
}

const (
	create = "create"
	list   = "list"
	remove = "delete"
)

//go:embed prompt.md
var prompt string

// New returns the tool RemoteTrigger.
func New(o Options) *tools.Tool {
	lists := tools.When(func(_ *tools.Env, in Input) bool { return in.Action == list })
	return tools.MustBuild(tools.Def[Input, Input, Output]{
		Name:              "RemoteTrigger",
		Title:             "Receive webhooks",
		Prompt:            prompt,
		SearchHint:        "webhook trigger remote HTTP POST event CI GitHub callback",
		Description:       func(in Input) string { return describe(o.Triggers, in) },
		Loading:           tools.LoadDeferred,
		IsReadOnly:        lists,
		IsConcurrencySafe: lists,
		IsIdempotent:      lists,
		IsOpenWorld:       tools.When(func(_ *tools.Env, in Input) bool { return in.Action == create }),
		Prepare:           func(_ *tools.Env, in Input) (Input, error) { return in, check(o.Triggers, in) },
		Check:             func(_ *tools.Env, in Input) *policy.Decision { return ask(o.Triggers, in) },
		Call: func(ctx context.Context, env *tools.Env, in Input) (tools.Result[Output], error) {
			out, err := run(ctx, o.Triggers, env.Session, in)
			return tools.Result[Output]{Data: out, Private: true}, err
		},
		Render: func(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.text}} },
	})
}

func describe(r *triggers.Registry, in Input) string {
	switch in.Action {
	case create:
		return "Let other programs send events to this session" + later(" and", in.Durable) + ": POST " + r.Address(in.Name)
	case remove:
		return "Delete the trigger " + in.Name
	}
	return "List the triggers of this session"
}

// later names the sessions that also get the events of a durable trigger, after a conjunction.
func later(and string, durable bool) string {
	if durable {
		return and + " later ones with its token and first folder"
	}
	return ""
}

func check(r *triggers.Registry, in Input) error {
	switch {
	case in.Durable && in.Action != create:
		return fault.New("durable is true, which only the action create knows", "Leave it out.")
	case in.Action == list && in.Name != "":
		return fault.New("name is given, and the action list shows all triggers", "Leave it out.")
	case in.Action == list:
		return nil
	case in.Name == "":
		return fault.New("name is missing, which the action "+in.Action+" requires", "Add it.")
	}
	if err := triggers.CheckName(in.Name); err != nil || !in.Durable {
		return err
	}
	return r.CheckDurable()
}

// ask returns the decision to ask the user before a way in is opened.
func ask(r *triggers.Registry, in Input) *policy.Decision {
	if in.Action != create {
		return nil
	}
	return &policy.Decision{
		Behavior: policy.Ask, Layer: policy.LayerTool,
		Reason: "other programs could then send text to this session" + later(" and", in.Durable) + ", by POST " + r.Address(in.Name),
		Next:   "ask the user to add the allow rule RemoteTrigger(create)",
	}
}

func run(ctx context.Context, r *triggers.Registry, v session.View, in Input) (Output, error) {
	switch in.Action {
	case create:
		made, err := r.Create(ctx, v, in.Name, in.Durable)
		if err != nil {
			return Output{}, err
		}
		return Output{[]Trigger{{in.Name, made.Address, 0, in.Durable}}, made.Secret, madeText(in, made)}, nil
	case remove:
		closed, err := r.Delete(ctx, v, in.Name)
		if err != nil {
			return Output{}, err
		}
		text := "Trigger " + in.Name + " deleted."
		if closed {
			text += " It was the last one, and its port is closed."
		}
		return Output{[]Trigger{}, "", text}, nil
	}
	all, err := r.List(v)
	if err != nil {
		return Output{}, err
	}
	out := Output{Triggers: []Trigger{}}
	var lines []string
	for _, t := range all {
		out.Triggers = append(out.Triggers, Trigger{t.Name, t.Address, t.Count, t.Durable})
		lines = append(lines, line(t))
	}
	if out.text = strings.Join(lines, "\n"); len(lines) == 0 {
		out.text = "[this session has no trigger: action create makes one]"
	}
	return out, nil
}

// madeText describes a new trigger, with a command for a shell to try it.
func madeText(in Input, made triggers.Created) string {
	return fmt.Sprintf(`Trigger %s made. A signed POST %s is an event of this session%s.
Its secret, not shown again: %s
To try it:
BODY='{"status":"ok"}'
curl --data-binary "$BODY" -H "%s: sha256=$(printf %%s "$BODY" | openssl dgst -sha256 -hmac %[4]s -r | cut -d' ' -f1)" '%[2]s'`,
		in.Name, made.Address, later(" or, after it, of", in.Durable), made.Secret, triggers.Header)
}

func line(t triggers.Trigger) string {
	text := t.Name + ": POST " + t.Address
	if t.Durable {
		text += ", durable"
	}
	switch t.Count {
	case 0:
		return text + ", no request yet"
	case 1:
		text += ", 1 request,"
	default:
		text += fmt.Sprintf(", %d requests, the last", t.Count)
	}
	return text + fmt.Sprintf(" %d s ago", int(t.Idle.Seconds()))
}
