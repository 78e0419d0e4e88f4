// Package plan provides the tools EnterPlanMode and ExitPlanMode. The mode of a session is
// part of it, and the policy enforces it: in plan mode only read-only calls run. Only the
// user ends plan mode, by accepting a plan; the session then has the server's mode again.
package plan

import (
	"cmp"
	"context"
	_ "embed"
	"slices"
	"strings"

	"mcp-toolset/internal/consent/question"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// Options holds the settings of the tools.
type Options struct {
	Mode policy.Mode // mode of the server; "" is the default one
}

// Output holds the mode of the session after a call.
type Output struct {
	Mode string `json:"mode" jsonschema:"The permission mode of the session"`

	text string
}

func render(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.text}} }

// EnterInput holds the arguments of EnterPlanMode.
type EnterInput struct {
	Reason string `json:"reason,omitempty" jsonschema:"Why a plan is needed first"`
}

// feature is the feature of the tools.
const feature = "plan"

//go:embed enter.md
var enterPrompt string

// NewEnter returns the tool EnterPlanMode. It makes the session stricter, so that nobody is
// asked.
func NewEnter(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[EnterInput, EnterInput, Output]{
		Name:         "EnterPlanMode",
		Feature:      feature,
		Title:        "Start plan mode",
		Prompt:       enterPrompt,
		Loading:      tools.LoadDeferred,
		SearchHint:   "plan mode explore read only before changes",
		Description:  func(EnterInput) string { return "Start plan mode" },
		IsReadOnly:   tools.Always[EnterInput](),
		IsIdempotent: tools.Always[EnterInput](),
		Call: func(_ context.Context, env *tools.Env, _ EnterInput) (tools.Result[Output], error) {
			switch {
			case env.Session.Forgets():
				return tools.Result[Output]{}, fault.New("plan mode needs a session, and the requests of this client have none", "Explore without changing anything, and present the plan in your answer.")
			case o.on(env):
				return tools.Result[Output]{}, fault.New("plan mode is on already", "Explore, then present the plan.")
			case !env.Approvable:
				return tools.Result[Output]{}, fault.New("plan mode ends when the user accepts a plan, and the user cannot be asked here", "Explore without changing anything, and present the plan in your answer.")
			}
			planning := true
			return tools.Result[Output]{
				Data:   Output{string(policy.ModePlan), "Plan mode is on: only read-only calls run. Explore, then call ExitPlanMode with the plan; the user decides on it."},
				Effect: session.Effect{Planning: &planning},
			}, nil
		},
		Render: render,
	})
}

// asks reports whether the client asks its user.
func asks(env *tools.Env) bool { return env.Elicit != nil && !env.Session.Unseen() }

// on reports whether the session is in plan mode.
func (o Options) on(env *tools.Env) bool {
	return env.Session.Planning || o.Mode == policy.ModePlan
}

// ExitInput holds the arguments of ExitPlanMode.
type ExitInput struct {
	Plan     string   `json:"plan,omitempty" maxLength:"8000" jsonschema:"The plan, as Markdown. Without it the user decides on what you wrote before"`
	PlanFile string   `json:"planFilePath,omitempty" jsonschema:"File that holds the plan; its name is shown"`
	Prompts  []Prompt `json:"allowedPrompts,omitempty" maxItems:"50" jsonschema:"What the plan needs to run, for the user to see, at most 50. It allows nothing"`
}

// Prompt describes a kind of calls that a plan needs.
type Prompt struct {
	Tool   string `json:"tool" jsonschema:"Name of the tool"`
	Prompt string `json:"prompt" jsonschema:"What it is needed for, such as run the tests"`
}

// Body returns the lines that the user sees.
func (in ExitInput) Body() string {
	var b strings.Builder
	b.WriteString(in.Plan)
	switch {
	case in.Plan != "":
	case in.PlanFile != "":
		b.WriteString("(The plan is in " + plain.Line(in.PlanFile) + ".)")
	default:
		b.WriteString("(The call has no plan: it is in what the model wrote before.)")
	}
	for i, p := range in.Prompts {
		if i == 0 {
			b.WriteString("\n\nIt expects to use, which this answer does not allow yet:")
		}
		b.WriteString("\n- " + plain.Cut(plain.Line(p.Tool+": "+p.Prompt), 200))
	}
	return b.String()
}

//go:embed exit.md
var exitPrompt string

// NewExit returns the tool ExitPlanMode. It asks the user itself, so that no rule, hook or
// mode takes the place of the user.
func NewExit(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[ExitInput, ExitInput, Output]{
		Name:        "ExitPlanMode",
		Feature:     feature,
		Title:       "Present a plan",
		Prompt:      exitPrompt,
		Loading:     tools.LoadDeferred,
		SearchHint:  "end plan mode present plan for approval",
		Description: func(ExitInput) string { return "Present a plan" },
		IsReadOnly:  tools.Always[ExitInput](),
		Prepare: func(env *tools.Env, in ExitInput) (ExitInput, error) {
			switch {
			case env.Session.Planning:
				return in, nil
			case o.on(env):
				return in, fault.New("the server was started in plan mode", "Present the plan in your answer; the user ends plan mode by starting the server in another one.")
			}
			return in, fault.New("plan mode is off", "Go on with the work; EnterPlanMode starts plan mode.")
		},
		Call:   o.present,
		Render: render,
	})
}

// Choices of the user.
const (
	accept      = "Accept"
	acceptEdits = "Accept, and allow edits"
	decline     = "Decline"
)

// present asks the user about a plan. The mode acceptEdits is an option where the server has
// the mode default.
func (o Options) present(ctx context.Context, env *tools.Env, in ExitInput) (tools.Result[Output], error) {
	var out tools.Result[Output]
	q := question.Question{Header: "Plan", Text: "Carry out this plan?", Body: in.Body(), Options: []question.Option{{Label: accept, Description: "plan mode ends"}}}
	if o.mode() == policy.ModeDefault && !env.Session.AcceptEdits {
		q.Options = append(q.Options, question.Option{Label: acceptEdits, Description: "plan mode ends, and commands that only make, move or remove files in the workspace also run, contained or not"})
	}
	q.Options = append(q.Options, question.Option{Label: decline, Description: "plan mode goes on; other words say what to change"})
	var reply question.Reply
	if env.Elicit != nil {
		var err error
		if reply, err = env.AskUser(ctx, []question.Question{q}); err != nil && asks(env) {
			return out, err
		}
	}
	if !asks(env) {
		// The model has entered the mode, and nobody could end it.
		off := false
		out.Effect = session.Effect{Planning: &off}
		out.Data = Output{string(o.mode()), "This client cannot ask the user, so plan mode, which you had entered, is off. Present the plan in your reply and end your turn; carry it out once the user agrees."}
		return out, nil
	}
	out.Did = &tools.Did{Answer: reply.Line([]question.Question{q})}
	answer := question.Answer{}
	if !reply.Declined {
		answer = reply.Answers[0]
	}
	if !reply.Declined && answer.Other == "" && len(answer.Choices) == 0 {
		out.Data = Output{string(policy.ModePlan), "The user chose no option. Plan mode is on. Ask the user about the plan, then present it again."}
		return out, nil
	}
	if answer.Other != "" || !slices.Contains([]string{accept, acceptEdits}, strings.Join(answer.Choices, "")) {
		out.Data = Output{string(policy.ModePlan), "The user declined the plan. Plan mode is on. Ask what to change, then present another plan."}
		if answer.Other != "" {
			out.Data.text = "The user did not accept the plan. Plan mode is on. Change the plan and present it again. The user wrote: " + answer.Other
		}
		return out, nil
	}
	off := false
	out.Effect = session.Effect{Planning: &off, AcceptEdits: answer.Choices[0] == acceptEdits}
	now := o.mode()
	if out.Effect.AcceptEdits || env.Session.AcceptEdits && now == policy.ModeDefault {
		now = policy.ModeAcceptEdits
	}
	out.Data = Output{string(now), "The user has accepted the plan. Plan mode is off; carry the plan out."}
	return out, nil
}

// mode returns the mode of the server.
func (o Options) mode() policy.Mode { return cmp.Or(o.Mode, policy.ModeDefault) }
