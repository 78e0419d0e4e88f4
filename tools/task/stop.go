package task

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// StopInput holds the arguments of TaskStop.
type StopInput struct {
	TaskID  string `json:"task_id,omitempty" jsonschema:"Id of the task"`
	ShellID string `json:"shell_id,omitempty" jsonschema:"Former name of task_id"`
}

// StopOutput describes the end of a task.
type StopOutput struct {
	TaskID   string `json:"task_id" jsonschema:"The task"`
	Status   string `json:"status" enum:"running,completed,failed,stopped,timed out" jsonschema:"Status of the task"`
	Detail   string `json:"detail" jsonschema:"The same in a few words"`
	ExitCode *int   `json:"exit_code,omitempty" jsonschema:"Its exit code, if it ended with one"`
	Before   bool   `json:"before" jsonschema:"Whether it had already ended"`

	text string
}

//go:embed stop.md
var stopPrompt string

// NewStop returns the tool TaskStop. It is concurrency-safe, so that it need not wait for a
// TaskOutput that waits for the same task.
func NewStop(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[StopInput, StopInput, StopOutput]{
		Name:        "TaskStop",
		Title:       "Stop a task",
		Prompt:      stopPrompt,
		SearchHint:  "stop end kill background task command shell",
		Aliases:     []string{"KillShell", "KillBash"},
		Description: func(in StopInput) string { return "Stop the background task " + in.TaskID },
		Summary: func(_ StopInput, r tools.Result[StopOutput]) string {
			return "Task " + r.Data.TaskID + ": " + r.Data.Detail
		},
		IsConcurrencySafe: tools.Always[StopInput](),
		IsIdempotent:      tools.Always[StopInput](),
		Matcher: func(in StopInput) func(policy.Behavior, string) bool {
			return func(_ policy.Behavior, id string) bool { return id == in.TaskID }
		},
		Prepare: func(_ *tools.Env, in StopInput) (StopInput, error) {
			if in.TaskID == "" {
				in.TaskID, in.ShellID = in.ShellID, ""
			}
			switch {
			case in.ShellID != "":
				return in, fault.New("task_id and shell_id are two names of one property, and both are given", "Give task_id alone.")
			case in.TaskID == "":
				return in, fault.New("task_id is missing", "TaskOutput without task_id lists the background tasks.")
			}
			return in, nil
		},
		Call: func(ctx context.Context, env *tools.Env, in StopInput) (tools.Result[StopOutput], error) {
			return stop(ctx, env, in, o)
		},
		Render: func(o StopOutput) []tools.Content { return []tools.Content{tools.Text{Text: o.text}} },
	})
}

func stop(ctx context.Context, env *tools.Env, in StopInput, o Options) (tools.Result[StopOutput], error) {
	none := tools.Result[StopOutput]{}
	t, err := Find(env, o.Tasks, in.TaskID)
	if err != nil {
		return none, err
	}
	before, said := hasEnded(t), "had ended before: "
	if !before {
		// If the caller cancels, the call returns, but the task is ended all the same.
		stopped := make(chan error, 1)
		go func() { stopped <- t.Stop("TaskStop") }()
		select {
		case err = <-stopped:
		case <-ctx.Done():
			return none, context.Cause(ctx)
		}
		if err != nil {
			return none, fault.New(fmt.Sprintf("the task could not be ended: %s", plain.Line(err.Error())), "TaskOutput shows whether it still runs.")
		}
		said = ""
	}
	s := t.Status()
	o.seen(env, t, s)
	out := StopOutput{TaskID: t.ID, Status: string(s.State), Detail: how(s, time.Now()), ExitCode: exitCode(s), Before: before}
	out.text = fmt.Sprintf("Task %s: %s%s\n%s%s", t.ID, said, out.Detail, notes(s), title(t))
	return tools.Result[StopOutput]{Data: out, Meta: Meta(t.ID, s)}, nil
}
