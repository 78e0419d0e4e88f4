package work

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"unicode/utf8"

	"mcp-toolset/internal/record/worklist"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/tools"
)

// TodosInput holds the arguments of TodoWrite.
type TodosInput struct {
	Todos []Todo `json:"todos" jsonschema:"All entries"`
}

// Todo is one entry of TodoWrite.
type Todo struct {
	Content    string `json:"content" minLength:"1" jsonschema:"What to do"`
	Status     string `json:"status" enum:"pending,in_progress,completed" jsonschema:"Status"`
	ActiveForm string `json:"activeForm,omitempty" jsonschema:"Such as Running tests"`
	ID         string `json:"id,omitempty" jsonschema:"Without effect"`
	Priority   string `json:"priority,omitempty" jsonschema:"Without effect"`
}

// TodosOutput holds the list after a call of TodoWrite.
type TodosOutput struct {
	Tasks []Entry `json:"tasks" jsonschema:"The tasks in the order of the list"`

	text string
}

//go:embed todos.md
var todosPrompt string

func newTodos(o Options) *tools.Tool {
	return tools.MustBuild(tools.Def[TodosInput, TodosInput, TodosOutput]{
		Name:         "TodoWrite",
		Feature:      feature,
		Title:        "Replace the list of work",
		Prompt:       todosPrompt,
		SearchHint:   "write replace the todo list of work",
		Description:  func(in TodosInput) string { return "Replace the work list with " + tools.Count(len(in.Todos), "entry") },
		Loading:      tools.LoadDeferred,
		IsReadOnly:   tools.Always[TodosInput](),
		IsIdempotent: tools.Always[TodosInput](),
		Prepare: func(_ *tools.Env, in TodosInput) (TodosInput, error) {
			for i, todo := range in.Todos {
				for _, f := range []struct{ name, text string }{{"content", todo.Content}, {"activeForm", todo.ActiveForm}} {
					if n := utf8.RuneCountInString(f.text); n > worklist.MaxLine {
						return in, fault.New(fmt.Sprintf("todos[%d].%s has %d characters, and the most is %d", i, f.name, n, worklist.MaxLine), "Shorten it.")
					}
				}
			}
			return in, nil
		},
		Call: func(ctx context.Context, env *tools.Env, in TodosInput) (tools.Result[TodosOutput], error) {
			return write(ctx, env, in, o)
		},
		Render: func(o TodosOutput) []tools.Content { return text(o.text) },
	})
}

func write(ctx context.Context, env *tools.Env, in TodosInput, o Options) (tools.Result[TodosOutput], error) {
	none := tools.Result[TodosOutput]{}
	on := o.store(env.Session)
	if on.shared && on.name == "" {
		return none, fault.New("the list is shared, and the call belongs to no session whose entries it could replace", "Use TaskCreate and TaskUpdate.")
	}
	todos := make([]worklist.Todo, len(in.Todos))
	for i, todo := range in.Todos {
		todos[i] = worklist.Todo{Subject: todo.Content, ActiveForm: todo.ActiveForm, Status: worklist.Status(todo.Status)}
	}
	var l worklist.List
	err := on.Update(ctx, func(now *worklist.List) error {
		err := now.Replace(todos, on.name)
		l = now.Clone()
		return err
	})
	if err != nil {
		return none, err
	}
	out := TodosOutput{Tasks: entries(&l), text: counts(l)}
	return tools.Result[TodosOutput]{Data: out, Meta: map[string]any{MetaItems: out.Tasks}}, nil
}

// counts returns the number of items by status.
func counts(l worklist.List) string {
	n := map[worklist.Status]int{}
	for _, it := range l.Items {
		n[it.Status]++
	}
	if len(l.Items) == 0 {
		return "The list is empty."
	}
	var parts []string
	for _, s := range []worklist.Status{worklist.Completed, worklist.InProgress, worklist.Pending} {
		if n[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[s], s))
		}
	}
	return "The list has " + strings.Join(parts, ", ") + "."
}
