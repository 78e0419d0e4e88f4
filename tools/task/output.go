package task

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"mcp-toolset/internal/exec/spool"
	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// Input holds the arguments of TaskOutput.
type Input struct {
	TaskID  string `json:"task_id,omitempty" jsonschema:"Id of the task; without it the tasks are listed"`
	BashID  string `json:"bash_id,omitempty" jsonschema:"Former name of task_id"`
	Block   bool   `json:"block" default:"true" jsonschema:"Whether to wait"`
	Timeout int    `json:"timeout" minimum:"0" maximum:"600000" default:"30000" jsonschema:"Maximum wait in milliseconds"`
	Offset  *int64 `json:"offset,omitempty" minimum:"0" jsonschema:"Where to start, in bytes: 0, or the next offset of an earlier answer"`
	Filter  string `json:"filter,omitempty" jsonschema:"Regular expression (Go's RE2): show only matching lines"`
}

// wait returns the timeout for waiting.
func (in Input) wait() time.Duration {
	if !in.Block {
		return 0
	}
	return time.Duration(in.Timeout) * time.Millisecond
}

// Output holds the state of a task and a part of its output log.
type Output struct {
	TaskID     string  `json:"task_id,omitempty" jsonschema:"The task"`
	Status     string  `json:"status,omitempty" enum:"running,completed,failed,stopped,timed out" jsonschema:"Status of the task"`
	Detail     string  `json:"detail,omitempty" jsonschema:"The same in a few words"`
	ExitCode   *int    `json:"exit_code,omitempty" jsonschema:"Its exit code, if it ended with one"`
	Output     string  `json:"output" jsonschema:"The output that is shown; notes in square brackets name omitted parts"`
	NextOffset int64   `json:"next_offset" jsonschema:"Where the output continues, in bytes"`
	More       bool    `json:"more" jsonschema:"Whether there is more output from next_offset on"`
	Tasks      []Entry `json:"tasks,omitempty" jsonschema:"Without task_id: the tasks in start order"`

	text string
}

//go:embed output.md
var outputPrompt string

// NewOutput returns the tool TaskOutput.
func NewOutput(o Options) *tools.Tool {
	if o.MaxOutput == 0 {
		o.MaxOutput = maxOutput
	}
	return tools.MustBuild(tools.Def[Input, prepared, Output]{
		Name:       "TaskOutput",
		Title:      "Show a task's output",
		Prompt:     outputPrompt,
		SearchHint: "show wait for output status of background task",
		Aliases:    []string{"BashOutput"},
		Collects:   true,
		Description: func(in prepared) string {
			if in.TaskID == "" {
				return "List the background tasks"
			}
			return "Show the output of the background task " + in.TaskID
		},
		View: tools.ViewOutput,
		Summary: func(in prepared, r tools.Result[Output]) string {
			if r.Data.TaskID == "" {
				return tools.Count(len(r.Data.Tasks), "background task")
			}
			return "Task " + r.Data.TaskID + ": " + r.Data.Detail
		},
		MaxResultSize:     max(tools.DefaultResultSize, o.MaxOutput+besides),
		Excerpt:           tools.ExcerptTail,
		IsReadOnly:        tools.Always[prepared](),
		IsConcurrencySafe: tools.Always[prepared](),
		IsIdempotent:      tools.Always[prepared](),
		Prepare:           prepare,
		Matcher: func(in prepared) func(policy.Behavior, string) bool {
			return func(_ policy.Behavior, id string) bool { return id == in.TaskID }
		},
		Call: func(ctx context.Context, env *tools.Env, in prepared) (tools.Result[Output], error) {
			if in.TaskID == "" {
				return list(o.Tasks.List(env.Session.Owner()), time.Now()), nil
			}
			return show(ctx, env, in, o)
		},
		Render: func(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.text}} },
	})
}

// prepared is the input of a call with the id of the task in TaskID.
type prepared struct {
	Input
	filter *regexp.Regexp // nil: none
}

func prepare(_ *tools.Env, in Input) (p prepared, err error) {
	if in.TaskID == "" {
		in.TaskID, in.BashID = in.BashID, ""
	}
	p.Input = in
	switch {
	case in.BashID != "":
		return p, fault.New("task_id and bash_id are two names of one property, and both are given", "Give task_id alone.")
	case in.Filter == "":
		return p, nil
	}
	p.filter, err = Filter(in.Filter)
	return p, err
}

// Filter compiles the property filter of a call. Its error is for the model.
func Filter(expr string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fault.New("filter is not a regular expression: "+plain.Line(strings.TrimPrefix(err.Error(), "error parsing regexp: ")), "Use Go's syntax (RE2); a backslash before a special character makes it a plain one.")
	}
	return re, nil
}

// shown is the part of the output for one answer.
type shown struct {
	text    string // with notes on omitted parts
	next    int64
	more    bool
	open    bool // the text ends within a line
	follows bool // the caller reads on by offset
}

func show(ctx context.Context, env *tools.Env, in prepared, o Options) (tools.Result[Output], error) {
	none := tools.Result[Output]{}
	t, err := Find(env, o.Tasks, in.TaskID)
	if err != nil {
		return none, err
	}
	q := spool.Query{Max: o.MaxOutput, Filter: in.filter}
	env.Waiting() // release the slot while waiting
	w := newWaiter(env, t, env.Foreground(in.wait()))
	defer w.stop()
	var s tasks.Status
	var seen shown
	if in.Offset == nil {
		if err := w.end(ctx); err != nil {
			return none, err
		}
		// The status is read before the output: if the task has ended by then, its output
		// is complete.
		s = t.Status()
		if q.Filter == nil {
			seen, err = overview(ctx, t, o.MaxOutput)
		} else {
			seen, err = from(ctx, w, q, &s)
		}
	} else {
		q.Offset = *in.Offset
		if printed, _ := t.Output().Bytes(); q.Offset > printed {
			return none, fault.New(fmt.Sprintf("offset %d is behind the end of the output, which has %d bytes", q.Offset, printed), "Give the next offset of a former answer.")
		}
		seen, err = from(ctx, w, q, &s)
	}
	switch {
	case errors.Is(err, spool.ErrRemoved), errors.Is(err, fs.ErrNotExist):
		seen = shown{text: "[the output is not kept any more]\n", next: q.Offset}
	case ctx.Err() != nil:
		return none, context.Cause(ctx)
	case err != nil:
		return none, fault.New("the output cannot be read: "+plain.Line(strings.TrimPrefix(err.Error(), "reading output: ")), "TaskOutput without task_id shows how the task is.")
	}
	o.seen(env, t, s)
	out := Output{TaskID: t.ID, Status: string(s.State), Detail: how(s, time.Now()), ExitCode: exitCode(s), Output: seen.text, NextOffset: seen.next, More: seen.more}
	out.text = fmt.Sprintf("Task %s: %s\n%s%s", t.ID, out.Detail, notes(s), seen.text)
	out.text = strings.TrimSuffix(out.text+seen.onward(s), "\n")
	if r, ok := t.Job.(tasks.Receiver); ok && r.Terminal() != nil && s.State == tasks.Running {
		out.text += "\n" + strings.TrimSuffix(describeScreen(r.Terminal()), "\n")
	}
	if o.Ports != nil && s.State == tasks.Running {
		for _, note := range o.Ports(ctx, t) {
			out.text += "\n[network: " + plain.Line(note) + "]"
		}
	}
	meta := Meta(t.ID, s)
	meta[MetaNextOffset], meta[MetaMore] = seen.next, seen.more
	return tools.Result[Output]{Data: out, Meta: meta}, nil
}

// onward returns the line that names the next offset.
func (p shown) onward(s tasks.Status) (line string) {
	if p.text != "" && !strings.HasSuffix(p.text, "\n") {
		line = "\n"
	}
	within := ""
	if p.open {
		within = ", within the last line"
	}
	switch {
	case p.more:
		return line + fmt.Sprintf("[next offset %d%s; there is more now]", p.next, within)
	case s.State == tasks.Running:
		return line + fmt.Sprintf("[next offset %d%s; there is no more yet]", p.next, within)
	case p.follows:
		return line + fmt.Sprintf("[next offset %d, the end of the output]", p.next)
	}
	return line
}
