package work

import (
	"context"
	_ "embed"
	"fmt"

	"mcp-toolset/internal/record/worklist"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// CreateInput holds the arguments of TaskCreate.
type CreateInput struct {
	Subject     string `json:"subject" minLength:"1" jsonschema:"Goal in a few words"`
	Description string `json:"description" jsonschema:"What has to be done"`
	ActiveForm  string `json:"activeForm,omitempty" jsonschema:"Shown while in progress"`
	Metadata    object `json:"metadata,omitempty" jsonschema:"Further data"`
}

// CreateOutput holds the new item.
type CreateOutput struct {
	Task Entry `json:"task" jsonschema:"The new task"`
}

//go:embed create.md
var createPrompt string

func newCreate(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[CreateInput, CreateInput, CreateOutput]{
		Name:        "TaskCreate",
		Feature:     feature,
		Title:       "Add a task",
		Prompt:      createPrompt,
		SearchHint:  "create add a task todo item to work list",
		Description: func(in CreateInput) string { return "Add the task " + plain.Line(in.Subject) },
		Loading:     tools.LoadDeferred,
		IsReadOnly:  tools.Always[CreateInput](),
		Call: func(ctx context.Context, env *tools.Env, in CreateInput) (tools.Result[CreateOutput], error) {
			return create(ctx, env, in, o)
		},
		Render: func(o CreateOutput) []tools.Content {
			return text(fmt.Sprintf("Task %s created: %s", o.Task.ID, plain.Text(o.Task.Subject)))
		},
	})
}

func create(ctx context.Context, env *tools.Env, in CreateInput, o Options) (tools.Result[CreateOutput], error) {
	metadata, err := in.Metadata.raw()
	if err != nil {
		return tools.Result[CreateOutput]{}, err
	}
	var it worklist.Item
	err = o.store(env.Session).Update(ctx, func(l *worklist.List) (err error) {
		it, err = l.Create(worklist.Draft{Subject: in.Subject, Description: in.Description, ActiveForm: in.ActiveForm, Metadata: metadata})
		return err
	})
	if err != nil {
		return tools.Result[CreateOutput]{}, err
	}
	e := entry(it, nil)
	return tools.Result[CreateOutput]{Data: CreateOutput{Task: e}, Meta: map[string]any{MetaItem: e}}, nil
}
