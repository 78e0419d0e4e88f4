package work

import (
	"context"
	_ "embed"
	"fmt"

	"mcp-toolset/internal/record/worklist"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// UpdateInput holds the arguments of TaskUpdate.
type UpdateInput struct {
	TaskID       string   `json:"taskId" jsonschema:"Id of the task"`
	Subject      *string  `json:"subject,omitempty" jsonschema:"New subject"`
	Description  *string  `json:"description,omitempty" jsonschema:"New description"`
	ActiveForm   *string  `json:"activeForm,omitempty" jsonschema:"New activeForm"`
	Status       string   `json:"status,omitempty" enum:"pending,in_progress,completed,deleted" jsonschema:"New status"`
	AddBlocks    []string `json:"addBlocks,omitempty" jsonschema:"Ids of tasks that wait for it"`
	AddBlockedBy []string `json:"addBlockedBy,omitempty" jsonschema:"Ids it waits for"`
	Owner        *string  `json:"owner,omitempty" jsonschema:"Who works on it"`
	Metadata     object   `json:"metadata,omitempty" jsonschema:"Merged; null removes a key"`
}

// UpdateOutput holds the changed item.
type UpdateOutput struct {
	Task Entry `json:"task" jsonschema:"The task after the change"`

	text string
}

//go:embed update.md
var updatePrompt string

func newUpdate(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[UpdateInput, UpdateInput, UpdateOutput]{
		Name:       "TaskUpdate",
		Feature:    feature,
		Title:      "Change a task",
		Prompt:     updatePrompt,
		SearchHint: "start complete claim delete a task in work list",
		Description: func(in UpdateInput) string {
			if in.Status != "" {
				return fmt.Sprintf("Set the task %s to %s", plain.Line(in.TaskID), in.Status)
			}
			return "Change the task " + plain.Line(in.TaskID)
		},
		Loading:      tools.LoadDeferred,
		IsReadOnly:   tools.Always[UpdateInput](),
		IsIdempotent: tools.Always[UpdateInput](),
		Prepare: func(_ *tools.Env, in UpdateInput) (UpdateInput, error) {
			if err := checkID(in.TaskID); err != nil {
				return in, err
			}
			for _, id := range append(in.AddBlocks[:len(in.AddBlocks):len(in.AddBlocks)], in.AddBlockedBy...) {
				if err := checkID(id); err != nil {
					return in, err
				}
			}
			if in.Subject == nil && in.Description == nil && in.ActiveForm == nil && in.Owner == nil && in.Status == "" &&
				len(in.AddBlocks) == 0 && len(in.AddBlockedBy) == 0 && len(in.Metadata) == 0 {
				return in, fault.New("the call changes nothing", "Give a status, or another property to change.")
			}
			return in, nil
		},
		Call: func(ctx context.Context, env *tools.Env, in UpdateInput) (tools.Result[UpdateOutput], error) {
			return update(ctx, env, in, o)
		},
		Render: func(o UpdateOutput) []tools.Content { return text(o.text) },
	})
}

func update(ctx context.Context, env *tools.Env, in UpdateInput, o Options) (tools.Result[UpdateOutput], error) {
	none := tools.Result[UpdateOutput]{}
	on := o.store(env.Session)
	if on.shared && on.name == "" && in.Status == string(worklist.InProgress) && (in.Owner == nil || *in.Owner == "") {
		return none, fault.New("the list is shared, and the call belongs to no session that could own the task", "Give owner, a name of your own.")
	}
	metadata, err := in.Metadata.raw()
	if err != nil {
		return none, err
	}
	var it worklist.Item
	var blockers []int
	err = on.Update(ctx, func(l *worklist.List) (err error) {
		it, err = l.Update(worklist.Change{
			ID: in.TaskID, Subject: in.Subject, Description: in.Description, ActiveForm: in.ActiveForm, Owner: in.Owner,
			Status: worklist.Status(in.Status), AddBlocks: in.AddBlocks, AddBlockedBy: in.AddBlockedBy, Metadata: metadata,
		}, on.name)
		blockers = open(l, it)
		return err
	})
	if err != nil {
		return none, err
	}
	e := entry(it, blockers)
	out := UpdateOutput{Task: e, text: fmt.Sprintf("Task %s updated [%s]: %s", e.ID, state(it, blockers), plain.Text(it.Subject))}
	if it.Status == worklist.Deleted {
		out.text = fmt.Sprintf("Task %s deleted: %s", e.ID, plain.Text(it.Subject))
	}
	return tools.Result[UpdateOutput]{Data: out, Meta: map[string]any{MetaItem: e}}, nil
}
