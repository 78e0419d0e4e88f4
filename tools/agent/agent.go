// Package agent provides the tool Agent.
package agent

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mcp-toolset/internal/exec/agent"
	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/bash"
	"mcp-toolset/tools/task"
)

const (
	// defaultForeground is the time after which an agent moves to the background. Hosts end calls
	// after 120 s or later.
	defaultForeground = 110 * time.Second
	// tick is the interval of progress reports between steps.
	tick = 5 * time.Second
)

// Unconfigured is why the tool is absent without any type of agents.
const Unconfigured = "there is no language model; the user can name one with models in the settings, or a program with agents"

// Options holds the services of the tool.
type Options struct {
	Agents     *agent.Registry // nil: there are no types
	Tasks      *tasks.Registry
	Foreground time.Duration // 0: 110 s
	Plan       bool          // the server is in the mode plan
	Bash       bash.Options  // how commands run, for agents that are programs
}

// Input holds the arguments of Agent.
type Input struct {
	Description string `json:"description" minLength:"1" maxLength:"200" jsonschema:"The task in 3 to 5 words, for the user"`
	Prompt      string `json:"prompt" minLength:"1" jsonschema:"The task, with all that the agent has to know"`
	Type        string `json:"subagent_type,omitempty" jsonschema:"Type of the agent; without it general, if there is one"`
	Model       string `json:"model,omitempty" jsonschema:"default or small (sonnet, opus and haiku are understood); without it that of the type"`
	Name        string `json:"name,omitempty" jsonschema:"Name for SendMessage, which can then give it further tasks: letters, digits, - and _"`
	Isolation   string `json:"isolation,omitempty" enum:"worktree" jsonschema:"worktree: it works in a git worktree of its own"`
	Background  bool   `json:"run_in_background,omitempty" jsonschema:"Return at once; the agent is a background task"`
}

// prepared is the input with its type.
type prepared struct {
	Input
	kind *agent.Type
}

// Output describes the agent.
type Output struct {
	Agent  string `json:"agent" jsonschema:"Name of the agent"`
	TaskID string `json:"task_id,omitempty" jsonschema:"The background task, if it still runs"`
	Report string `json:"report,omitempty" jsonschema:"Its report, if it has ended, with facts about its run"`

	text string
}

//go:embed prompt.md
var prompt string

// New returns the tool Agent.
func New(o Options) *tools.Tool {
	if o.Foreground == 0 {
		o.Foreground = defaultForeground
	}
	return tools.MustBuild(tools.Def[Input, prepared, Output]{
		Name:        "Agent",
		Title:       "Start an agent",
		Prompt:      describe(o),
		SearchHint:  "agent subagent task delegate parallel research model",
		Aliases:     []string{"Task"},
		Description: func(in prepared) string { return "Run the agent " + in.who() + ": " + plain.Line(in.Description) },
		Summary: func(in prepared, r tools.Result[Output]) string {
			if r.Data.TaskID != "" {
				return "Running: task " + r.Data.TaskID
			}
			return ""
		},
		Loading: tools.LoadDeferred,
		Excerpt: tools.ExcerptEnds, // a long report is shown with both of its marks
		IsEnabled: func() error {
			if o.Agents == nil {
				return errors.New(Unconfigured)
			}
			return nil
		},
		// Its calls are judged one by one, in plan mode if the session is in it. A program can do
		// all that a command can do.
		IsReadOnly: tools.When(func(env *tools.Env, in prepared) bool {
			return in.kind.Program == nil && (o.Plan || env.Session.Planning || in.kind.Profile.Plan)
		}),
		IsDestructive:     o.destructive(),
		IsConcurrencySafe: tools.Always[prepared](),
		IsOpenWorld:       tools.Always[prepared](),
		Prepare: func(_ *tools.Env, in Input) (p prepared, err error) {
			p.Input = in
			if strings.TrimSpace(in.Prompt) == "" {
				return p, fault.New("prompt is empty", "Give the task.")
			}
			if p.kind, err = o.Agents.Check(in.request()); err == nil {
				p.Type = p.kind.Name
			}
			return p, err
		},
		Matcher: func(in prepared) func(policy.Behavior, string) bool {
			return func(_ policy.Behavior, pattern string) bool {
				t, err := o.Agents.Find(pattern)
				return err == nil && t == in.kind
			}
		},
		Check: func(env *tools.Env, in prepared) *policy.Decision {
			switch p := in.kind.Program; {
			case p == nil:
				return nil
			case p.Uncontained:
				return &policy.Decision{
					Behavior: policy.Ask, Layer: policy.LayerTool, Reason: "the program of the agent type " + in.Type + " runs outside of the sandbox",
					Next: "ask the user to allow it, for good by a rule such as Agent(" + in.Type + ") in the settings",
				}
			}
			return bash.CheckInterpreter(o.Bash, env, "Agent("+in.Type+")")
		},
		ClassifierInput: func(in prepared) string { return "Start an agent of the type " + in.Type + ":\n" + in.Prompt },
		Call: func(ctx context.Context, env *tools.Env, in prepared) (tools.Result[Output], error) {
			return o.start(ctx, env, in)
		},
		Render: func(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.text}} },
	})
}

// destructive returns which calls may destroy files of the workspace: those that start a program. Its
// changes are recorded for undo. In a worktree of its own it changes only that.
func (o Options) destructive() (a tools.Annotation[prepared]) {
	if o.Agents == nil || !slices.ContainsFunc(o.Agents.Types, func(t agent.Type) bool { return t.Program != nil }) {
		return a
	}
	return tools.When(func(_ *tools.Env, in prepared) bool { return in.kind.Program != nil && in.Isolation == "" })
}

// who returns the type of the agent, and its name if it has one.
func (in Input) who() string {
	if in.Name != "" {
		return in.Type + " " + plain.Key(in.Name)
	}
	return in.Type
}

func (in Input) title() string {
	return fmt.Sprintf("Agent (%s): %s", in.who(), plain.Line(in.Description))
}

func (in Input) request() agent.Request {
	return agent.Request{Title: in.title(), Prompt: in.Prompt, Type: in.Type, Model: in.Model, Name: in.Name, Isolation: in.Isolation != ""}
}

// describe returns the description with as many types as have room.
func describe(o Options) string {
	text := strings.TrimSpace(prompt) + "\n"
	if o.Agents == nil {
		return text + "- none"
	}
	for i, t := range o.Agents.Types {
		line := "- " + t.Name + ": " + plain.Cut(plain.Line(t.Description), 160) + "\n"
		if len(text)+len(line)+30 > tools.MaxPrompt {
			return text + fmt.Sprintf("- and %d more\n", len(o.Agents.Types)-i)
		}
		text += line
	}
	return text
}

func (o Options) start(ctx context.Context, env *tools.Env, in prepared) (tools.Result[Output], error) {
	none := tools.Result[Output]{}
	if env.Later == nil {
		return none, fault.New("an agent cannot be started by another call", "Call Agent directly.")
	}
	run, err := o.Agents.Start(ctx, env, in.request())
	if err != nil {
		return none, err
	}
	if in.Background {
		return o.background(env, run, "runs in the background")
	}
	env.Depart() // its calls must not wait for this one
	began := time.Now()
	limit := time.NewTimer(env.Foreground(o.Foreground))
	defer limit.Stop()
	life := time.NewTicker(tick)
	defer life.Stop()
	step := "starts"
	for {
		select {
		case <-run.Done():
			return ended(run), nil
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), tools.ErrGaveUp) {
				return o.background(env, run, "goes on in the background")
			}
			_ = run.Stop("the end of the call")
			run.Release()
			return none, context.Cause(ctx)
		case step = <-run.Steps():
		case <-life.C:
		case <-limit.C:
			return o.background(env, run, fmt.Sprintf("runs for %v already and goes on in the background", env.Foreground(o.Foreground)))
		}
		env.Progress(tools.Progress{Done: time.Since(began).Seconds(), Message: step})
	}
}

// background registers a run as a task.
func (o Options) background(env *tools.Env, run *agent.Run, how string) (tools.Result[Output], error) {
	run.Detach()
	t, err := o.Tasks.Add(env.Session.Owner(), run)
	if err != nil {
		_ = run.Stop("the limit of tasks")
		run.Release()
		return tools.Result[Output]{}, err
	}
	name, _ := run.Name()
	text := fmt.Sprintf("The agent %s %s as task %s. TaskOutput shows its steps and its report, TaskStop ends it; its end is an event of a later answer.", name, how, t.ID)
	meta := task.Meta(t.ID, tasks.Status{State: tasks.Running})
	meta[agent.MetaAgent] = name
	return tools.Result[Output]{
		Data: Output{Agent: name, TaskID: t.ID, text: text}, Effect: session.Effect{Output: run.Output().Path()}, Meta: meta, Did: &tools.Did{Task: t.ID},
	}, nil
}

// ended returns the result of a run that has ended.
func ended(run *agent.Run) tools.Result[Output] {
	name, _ := run.Name()
	a := run.Answer()
	run.Release()
	return tools.Result[Output]{Data: Output{Agent: name, Report: a.Text, text: a.Text}, Meta: a.Meta, Failed: a.Failed, Private: true}
}

// Continue gives a named agent that waits another task, as a background task of the session. ok is
// false if it does not wait for this session.
func (o Options) Continue(ctx context.Context, env *tools.Env, name, message string) (text string, ok bool, err error) {
	if o.Agents == nil {
		return "", false, nil
	}
	run, ok, err := o.Agents.Continue(ctx, env, name, message)
	if !ok || err != nil {
		return "", ok, err
	}
	r, err := o.background(env, run, "has this as its next task and runs")
	return r.Data.text, true, err
}
