// Package cron provides the tools for schedules: CronCreate, CronDelete and CronList.
//
// A firing is an event with a prompt, or runs a command, about which the policy decides then.
// Calls about prompts in memory count as read-only. Durable ones outlive the session: plan mode
// refuses to make and delete them.
package cron

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"mcp-toolset/internal/record/schedule"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// Options holds the services of the tools.
type Options struct {
	Schedules *schedule.Registry // a call requires it
}

// New returns the tools.
func New(o Options) []*tools.Tool {
	return []*tools.Tool{newCreate(o), newDelete(o), newList(o)}
}

// Entry describes a schedule.
type Entry struct {
	ID        string `json:"id" jsonschema:"Id for CronDelete"`
	Cron      string `json:"cron" jsonschema:"Cron expression"`
	Timezone  string `json:"timezone,omitempty" jsonschema:"Time zone; that of the machine if absent"`
	Prompt    string `json:"prompt,omitempty" jsonschema:"Text of the event"`
	Command   string `json:"command,omitempty" jsonschema:"What runs as a background task"`
	Recurring bool   `json:"recurring" jsonschema:"Whether it fires again and again"`
	Durable   bool   `json:"durable" jsonschema:"Whether it survives a restart"`
	Next      string `json:"next" jsonschema:"Time of the next firing"`
	Ends      string `json:"ends,omitempty" jsonschema:"Time after which a recurring schedule does not fire"`
}

// Line returns a line about a schedule.
func Line(s schedule.Schedule) string { return entry(s).text() }

func entry(s schedule.Schedule) Entry {
	e := Entry{ID: s.ID, Cron: s.Cron, Timezone: s.Zone, Prompt: s.Prompt, Command: s.Command, Recurring: !s.Once, Durable: s.Durable()}
	format := func(t time.Time) string { return t.Format("2006-01-02 15:04 -0700") }
	if c, err := schedule.Parse(s.Cron, s.Zone); err == nil { // another server may know zones that this one does not
		format = c.Format
	}
	e.Next = format(s.Next)
	if e.Recurring {
		e.Ends = format(s.Ends())
	}
	return e
}

// text returns a line about the schedule.
func (e Entry) text() string {
	zone := "the time zone of the machine"
	if e.Timezone != "" {
		zone = plain.Line(e.Timezone)
	}
	kind := "once"
	if e.Recurring {
		kind = "recurring until " + e.Ends
	}
	if e.Durable {
		kind += ", durable"
	}
	what := plain.Line(e.Prompt)
	if e.Command != "" {
		what = "runs " + plain.Line(e.Command)
	}
	return fmt.Sprintf("%s [%s in %s, %s, next at %s] %s", e.ID, plain.Line(e.Cron), zone, kind, e.Next, what)
}

// CreateInput holds the arguments of CronCreate.
type CreateInput struct {
	Cron      string `json:"cron" minLength:"1" jsonschema:"Minute, hour, day of month, month and day of week, such as 30 9 * * 1-5"`
	Prompt    string `json:"prompt,omitempty" jsonschema:"Text of the event, as an instruction to yourself; or give command"`
	Command   string `json:"command,omitempty" jsonschema:"Command of Bash to run in the background instead"`
	Recurring bool   `json:"recurring" default:"true" jsonschema:"False: fires once, at the first time; default true"`
	Durable   bool   `json:"durable,omitempty" jsonschema:"Survives a restart of the server"`
	Timezone  string `json:"timezone,omitempty" jsonschema:"Such as Europe/Berlin; by default that of the machine"`
}

func (in CreateInput) draft() schedule.Draft {
	return schedule.Draft{Cron: in.Cron, Zone: in.Timezone, Prompt: in.Prompt, Command: in.Command, Once: !in.Recurring, Durable: in.Durable}
}

// CreateOutput holds the new schedule.
type CreateOutput struct {
	Schedule Entry `json:"schedule" jsonschema:"The new schedule"`
}

// feature is the feature of the tools.
const feature = "schedules"

// The descriptions of the tools.
var (
	//go:embed create.md
	createPrompt string
	//go:embed delete.md
	deletePrompt string
	//go:embed list.md
	listPrompt string
)

func newCreate(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[CreateInput, CreateInput, CreateOutput]{
		Name:       "CronCreate",
		Feature:    feature,
		Title:      "Schedule a prompt",
		Prompt:     createPrompt,
		SearchHint: "schedule cron timer reminder later recurring daily prompt at time",
		Description: func(in CreateInput) string {
			what := "a prompt"
			if in.Command != "" {
				what = "a command"
			}
			return fmt.Sprintf("Schedule %s at %s: %s", what, plain.Line(in.Cron), plain.Line(in.Prompt+in.Command))
		},
		Loading:    tools.LoadDeferred,
		IsReadOnly: tools.When(func(_ *tools.Env, in CreateInput) bool { return !in.Durable && in.Command == "" }),
		Prepare:    func(_ *tools.Env, in CreateInput) (CreateInput, error) { return in, in.draft().Check() },
		Call: func(ctx context.Context, env *tools.Env, in CreateInput) (tools.Result[CreateOutput], error) {
			s, err := o.Schedules.Add(ctx, env.Session, in.draft(), runner(env, in.Command))
			if err != nil {
				return tools.Result[CreateOutput]{}, err
			}
			return tools.Result[CreateOutput]{Data: CreateOutput{Schedule: entry(s)}}, nil
		},
		Render: func(o CreateOutput) []tools.Content { return text("Scheduled: " + o.Schedule.text()) },
	})
}

// runner returns a function that starts a command as a background task and returns the answer of
// Bash, which may be a refusal.
func runner(env *tools.Env, command string) func(context.Context) string {
	later := env.Later
	if command == "" || later == nil {
		return nil
	}
	return func(ctx context.Context) string {
		args, err := json.Marshal(map[string]any{"command": command, "run_in_background": true})
		if err != nil {
			return err.Error() // cannot happen
		}
		resp, err := later(ctx, "Bash", args)
		if err != nil {
			return "The command was not run: " + err.Error()
		}
		var parts []string
		for _, c := range resp.Content {
			if t, ok := c.(tools.Text); ok {
				parts = append(parts, t.Text)
			}
		}
		return strings.Join(parts, "\n")
	}
}

// DeleteInput holds the arguments of CronDelete.
type DeleteInput struct {
	ID string `json:"id" minLength:"1" jsonschema:"Id of the schedule"`
}

// DeleteOutput holds the deleted schedule.
type DeleteOutput struct {
	Schedule Entry `json:"schedule" jsonschema:"The deleted schedule"`
}

func newDelete(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[DeleteInput, DeleteInput, DeleteOutput]{
		Name:        "CronDelete",
		Feature:     feature,
		Title:       "Delete a schedule",
		Prompt:      deletePrompt,
		SearchHint:  "delete remove cancel a cron schedule",
		Description: func(in DeleteInput) string { return "Delete the schedule " + plain.Key(in.ID) },
		Loading:     tools.LoadDeferred,
		IsReadOnly:  tools.When(func(_ *tools.Env, in DeleteInput) bool { return !schedule.DurableID(in.ID) }),
		Call: func(ctx context.Context, env *tools.Env, in DeleteInput) (tools.Result[DeleteOutput], error) {
			s, err := o.Schedules.Delete(ctx, env.Session, in.ID)
			if err != nil {
				return tools.Result[DeleteOutput]{}, err
			}
			return tools.Result[DeleteOutput]{Data: DeleteOutput{Schedule: entry(s)}}, nil
		},
		Render: func(o DeleteOutput) []tools.Content { return text("Deleted: " + o.Schedule.text()) },
	})
}

// ListInput is the empty input of CronList.
type ListInput struct{}

// ListOutput holds schedules.
type ListOutput struct {
	Schedules []Entry `json:"schedules" jsonschema:"The schedules, in the order of their next firings"`
}

func newList(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[ListInput, ListInput, ListOutput]{
		Name:              "CronList",
		Feature:           feature,
		Title:             "List schedules",
		Prompt:            listPrompt,
		SearchHint:        "list scheduled prompts cron schedules timers",
		Description:       func(ListInput) string { return "List the schedules of the session" },
		Loading:           tools.LoadDeferred,
		IsReadOnly:        tools.Always[ListInput](),
		IsConcurrencySafe: tools.Always[ListInput](),
		IsIdempotent:      tools.Always[ListInput](),
		Call: func(_ context.Context, env *tools.Env, _ ListInput) (tools.Result[ListOutput], error) {
			list, err := o.Schedules.List(env.Session)
			if err != nil {
				return tools.Result[ListOutput]{}, err
			}
			out := ListOutput{Schedules: make([]Entry, len(list))}
			for i, s := range list {
				out.Schedules[i] = entry(s)
			}
			return tools.Result[ListOutput]{Data: out, Private: true}, nil
		},
		Render: func(o ListOutput) []tools.Content { return text(o.text()) },
	})
}

// text returns a line for each schedule.
func (o ListOutput) text() string {
	if len(o.Schedules) == 0 {
		return "[there are no schedules: CronCreate makes one]"
	}
	lines := make([]string, len(o.Schedules))
	for i, e := range o.Schedules {
		lines[i] = e.text()
	}
	return strings.Join(lines, "\n")
}

func text(s string) []tools.Content { return []tools.Content{tools.Text{Text: s}} }
