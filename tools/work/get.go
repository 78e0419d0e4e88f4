package work

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcp-toolset/internal/record/worklist"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

// GetInput holds the arguments of TaskGet.
type GetInput struct {
	TaskID string `json:"taskId" jsonschema:"Id of the task"`
}

// GetOutput holds an item.
type GetOutput struct {
	Task Details `json:"task" jsonschema:"The task"`

	text string
}

// Details describes an item with all that is known of it.
type Details struct {
	ID          string   `json:"id" jsonschema:"The task"`
	Subject     string   `json:"subject" jsonschema:"Its goal"`
	Description string   `json:"description" jsonschema:"What has to be done"`
	ActiveForm  string   `json:"activeForm,omitempty" jsonschema:"What to show while it is in progress"`
	Status      string   `json:"status" enum:"pending,in_progress,completed" jsonschema:"Its status"`
	Owner       string   `json:"owner,omitempty" jsonschema:"Who works on it"`
	Blocks      []string `json:"blocks,omitempty" jsonschema:"Ids of the tasks that it blocks"`
	BlockedBy   []string `json:"blockedBy,omitempty" jsonschema:"Ids of the tasks that block it, also of completed ones"`
	Metadata    object   `json:"metadata,omitempty" jsonschema:"Further data"`
}

//go:embed get.md
var getPrompt string

func newGet(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[GetInput, GetInput, GetOutput]{
		Name:              "TaskGet",
		Feature:           feature,
		Title:             "Show a task",
		Prompt:            getPrompt,
		SearchHint:        "show details of a task in work list",
		Description:       func(in GetInput) string { return "Show the task " + plain.Line(in.TaskID) },
		Loading:           tools.LoadDeferred,
		IsReadOnly:        tools.Always[GetInput](),
		IsConcurrencySafe: tools.Always[GetInput](),
		IsIdempotent:      tools.Always[GetInput](),
		Prepare:           func(_ *tools.Env, in GetInput) (GetInput, error) { return in, checkID(in.TaskID) },
		Call: func(ctx context.Context, env *tools.Env, in GetInput) (tools.Result[GetOutput], error) {
			return get(ctx, env, in, o)
		},
		Render: func(o GetOutput) []tools.Content { return text(o.text) },
	})
}

func get(ctx context.Context, env *tools.Env, in GetInput, o Options) (tools.Result[GetOutput], error) {
	none := tools.Result[GetOutput]{}
	l, err := o.store(env.Session).Read(ctx)
	if err != nil {
		return none, err
	}
	it, err := l.Get(in.TaskID)
	if err != nil {
		return none, err
	}
	metadata, err := objectOf(it.Metadata)
	if err != nil {
		return none, err
	}
	e := entry(it, open(&l, it))
	out := GetOutput{Task: Details{
		ID: e.ID, Subject: it.Subject, Description: it.Description, ActiveForm: it.ActiveForm, Status: e.Status, Owner: it.Owner,
		Blocks: words(l.Blocks(it.ID)), BlockedBy: words(it.BlockedBy), Metadata: metadata,
	}}
	out.text, err = details(&l, it)
	return tools.Result[GetOutput]{Data: out, Meta: map[string]any{MetaItem: e}}, err
}

// details returns the text of TaskGet: one line per fact, and the description at the end.
func details(l *worklist.List, it worklist.Item) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "Task %d [%s]: %s\n", it.ID, state(it, open(l, it)), plain.Text(it.Subject))
	if it.ActiveForm != "" {
		fmt.Fprintf(&b, "active form: %s\n", plain.Text(it.ActiveForm))
	}
	if blocks := l.Blocks(it.ID); len(blocks) > 0 {
		fmt.Fprintf(&b, "blocks: %s\n", strings.Join(words(blocks), ", "))
	}
	still := l.Blockers(it)
	done := slices.DeleteFunc(slices.Clone(it.BlockedBy), func(id int) bool { return slices.Contains(still, id) })
	if len(done) > 0 {
		fmt.Fprintf(&b, "was blocked by: %s\n", strings.Join(words(done), ", "))
	}
	if len(it.Metadata) > 0 {
		data, err := json.Marshal(it.Metadata)
		if err != nil {
			return "", fmt.Errorf("encoding metadata: %w", err)
		}
		shown, err := plain.JSON(data)
		if err != nil {
			return "", fmt.Errorf("encoding metadata: %w", err)
		}
		fmt.Fprintf(&b, "metadata: %s\n", shown)
	}
	if it.Description != "" {
		b.WriteString("\n" + plain.Lines(it.Description))
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
