package work

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/record/worklist"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// ListInput is the empty input of TaskList.
type ListInput struct{}

// ListOutput holds the items of a list.
type ListOutput struct {
	Tasks      []Entry `json:"tasks" jsonschema:"The tasks in the order of the list"`
	Background int     `json:"background,omitempty" jsonschema:"Number of background tasks that are running, which TaskOutput lists"`

	text string
}

//go:embed list.md
var listPrompt string

func newList(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[ListInput, ListInput, ListOutput]{
		Name:              "TaskList",
		Feature:           feature,
		Title:             "List tasks",
		Prompt:            listPrompt,
		SearchHint:        "list tasks todo items of work list",
		Description:       func(ListInput) string { return "List the tasks of the work list" },
		Loading:           tools.LoadDeferred,
		IsReadOnly:        tools.Always[ListInput](),
		IsConcurrencySafe: tools.Always[ListInput](),
		IsIdempotent:      tools.Always[ListInput](),
		Call: func(ctx context.Context, env *tools.Env, _ ListInput) (tools.Result[ListOutput], error) {
			l, err := o.store(env.Session).Read(ctx)
			if err != nil {
				return tools.Result[ListOutput]{}, err
			}
			running := 0
			for _, t := range o.Tasks.List(env.Session.Owner()) {
				if t.Status().State == tasks.Running {
					running++
				}
			}
			out := list(l, running)
			return tools.Result[ListOutput]{Data: out, Meta: map[string]any{MetaItems: out.Tasks}}, nil
		},
		Render: func(o ListOutput) []tools.Content { return text(o.text) },
	})
}

// entries returns the items of a list.
func entries(l *worklist.List) []Entry {
	out := make([]Entry, len(l.Items))
	for i, it := range l.Items {
		out[i] = entry(it, open(l, it))
	}
	return out
}

// Lines returns a line for each item of the list of a session.
func (o Options) Lines(ctx context.Context, v session.View) ([]string, error) {
	l, err := o.store(v).Read(ctx)
	return lines(&l), err
}

func lines(l *worklist.List) []string {
	out := make([]string, len(l.Items))
	for i, it := range l.Items {
		out[i] = fmt.Sprintf("%d [%s] %s", it.ID, state(it, open(l, it)), plain.Text(it.Subject))
	}
	return out
}

func list(l worklist.List, running int) ListOutput {
	out := ListOutput{Tasks: entries(&l), Background: running}
	var b strings.Builder
	for _, line := range lines(&l) {
		b.WriteString(line + "\n")
	}
	if len(l.Items) == 0 {
		b.WriteString("[there are no tasks: TaskCreate adds one]\n")
	}
	switch {
	case running == 1:
		b.WriteString("[1 background task is running: call TaskOutput]\n")
	case running > 1:
		fmt.Fprintf(&b, "[%d background tasks are running: call TaskOutput]\n", running)
	}
	out.text = strings.TrimSuffix(b.String(), "\n")
	return out
}

// Items returns the items of the list of a session.
func (o Options) Items(ctx context.Context, v session.View) ([]worklist.Item, error) {
	l, err := o.store(v).Read(ctx)
	return l.Items, err
}
