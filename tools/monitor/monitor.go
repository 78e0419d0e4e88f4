// Package monitor provides the tool Monitor, which makes events of lines: of the output of a
// command, of a file that grows, or of the output of a background task.
//
// A monitor is a background task. Whatever it watches, it reads an output log: that of its
// command, that of the other task, or one of its own that gets what the file grows by.
package monitor

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"time"

	"mcp-toolset/internal/event"
	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/bash"
	"mcp-toolset/tools/file"
	"mcp-toolset/tools/task"
)

// Options holds the services of the tool. A call requires all of them.
type Options struct {
	Bash    bash.Options // runs commands; its Tasks hold the monitors
	Events  *event.Registry
	Running *Running
}

// Input holds the arguments of Monitor.
type Input struct {
	Description string `json:"description" minLength:"1" jsonschema:"What is watched for, in 5 to 10 words, for the user"`
	Command     string `json:"command,omitempty" jsonschema:"Command whose lines of output are events"`
	Path        string `json:"path,omitempty" jsonschema:"File whose new lines are events"`
	TaskID      string `json:"task_id,omitempty" jsonschema:"Running background task whose lines of output are events"`
	Filter      string `json:"filter,omitempty" jsonschema:"Regular expression (Go's RE2): only matching lines are events"`
	TimeoutMS   int    `json:"timeout_ms" minimum:"1000" maximum:"3600000" default:"300000" jsonschema:"When to end the monitor, in milliseconds: 300000 by default, 1000 to 3600000"`
	Persistent  bool   `json:"persistent,omitempty" jsonschema:"Without a timeout: until TaskStop or the end of the session"`
}

// limit returns the timeout of the monitor; 0: none.
func (in Input) limit() time.Duration {
	if in.Persistent {
		return 0
	}
	return time.Duration(in.TimeoutMS) * time.Millisecond
}

// prepared is the input of a call with what Prepare derives from it.
type prepared struct {
	Input
	command *bash.Background // nil: no command
	filter  *regexp.Regexp   // nil: none
}

// Output holds the id of the monitor.
type Output struct {
	TaskID string `json:"task_id" jsonschema:"The monitor, for TaskStop and TaskOutput"`

	text string
}

//go:embed prompt.md
var prompt string

// New returns the tool Monitor.
func New(o Options) *tools.Tool {
	command := func(f func(*bash.Background) bool, other bool) tools.Annotation[prepared] {
		return tools.When(func(_ *tools.Env, in prepared) bool {
			if in.command == nil {
				return other
			}
			return f(in.command)
		})
	}
	return tools.MustBuild(tools.Def[Input, prepared, Output]{
		Name:              "Monitor",
		Title:             "Watch for lines",
		Prompt:            prompt,
		SearchHint:        "monitor watch follow tail log output lines events",
		Description:       describe,
		Summary:           func(_ prepared, r tools.Result[Output]) string { return "Watching: task " + r.Data.TaskID },
		Loading:           tools.LoadDeferred,
		IsReadOnly:        command((*bash.Background).ReadOnly, true),
		IsConcurrencySafe: command((*bash.Background).ConcurrencySafe, true),
		IsDestructive:     command((*bash.Background).Destructive, false),
		IsOpenWorld:       command(func(b *bash.Background) bool { return !b.ReadOnly() }, false),
		Prepare:           func(env *tools.Env, in Input) (prepared, error) { return prepare(env, in, o) },
		Path:              func(in prepared) string { return in.Path },
		As: func(in prepared) string {
			if in.command == nil {
				return ""
			}
			return "Bash"
		},
		Parts: func(env *tools.Env, in prepared) *tools.Parts {
			if in.command == nil {
				return nil
			}
			return in.command.Parts(env)
		},
		Check: func(env *tools.Env, in prepared) *policy.Decision {
			if in.command == nil {
				return nil
			}
			return in.command.Check(env)
		},
		Grants: func(_ *tools.Env, in prepared, opens []policy.Target) ([]tools.Grant, error) {
			if in.command == nil {
				return nil, nil
			}
			return in.command.Grants(opens)
		},
		ClassifierInput: func(in prepared) string { return in.Command },
		Call: func(ctx context.Context, env *tools.Env, in prepared) (tools.Result[Output], error) {
			return start(ctx, env, in, o)
		},
		Render: func(o Output) []tools.Content { return []tools.Content{tools.Text{Text: o.text}} },
	})
}

func describe(in prepared) string {
	switch {
	case in.command != nil:
		return in.command.Describe(in.Description)
	case in.Path != "":
		return fmt.Sprintf("Watch %s: %s", plain.Line(in.Path), plain.Line(in.Description))
	}
	return fmt.Sprintf("Watch the background task %s: %s", plain.Line(in.TaskID), plain.Line(in.Description))
}

func prepare(env *tools.Env, in Input, o Options) (p prepared, err error) {
	given := 0
	for _, s := range []string{in.Command, in.Path, in.TaskID} {
		if s != "" {
			given++
		}
	}
	if given != 1 {
		return p, fault.New(fmt.Sprintf("%d of command, path and task_id are given", given), "Give exactly one of them.")
	}
	if in.Filter != "" {
		if p.filter, err = task.Filter(in.Filter); err != nil {
			return p, err
		}
	}
	switch {
	case in.Path != "":
		file.CompletePath(env, &in.Path)
		err = file.CheckPath(in.Path)
	case in.Command != "":
		p.command, err = bash.Prepare(o.Bash, env, in.Command)
	}
	p.Input = in
	return p, err
}

// start starts the monitor and returns its id.
func start(ctx context.Context, env *tools.Env, in prepared, o Options) (tools.Result[Output], error) {
	none := tools.Result[Output]{}
	source, from, err := open(ctx, env, in, o)
	if err != nil {
		return none, err
	}
	m := &monitor{
		Job: source, title: in.Description, from: from, filter: in.filter, done: make(chan struct{}), events: o.Events, owner: env.Session.Owner(),
	}
	t, err := o.Bash.Tasks.AddSeen(m.owner, m)
	if err != nil {
		go func() { // a command may take a moment to end
			_ = source.Stop("the limit of tasks")
			<-source.Done()
			source.Release()
		}()
		return none, err
	}
	m.id = t.ID
	go m.run()
	until := fmt.Sprintf("for %v at most", in.limit())
	if in.Persistent {
		until = "until it is stopped"
	}
	out := Output{TaskID: t.ID, text: fmt.Sprintf("Watching as task %s, %s. Each line is an event of a later answer; Sleep waits for one, TaskStop ends the monitor.", t.ID, until)}
	if in.Path != "" && !file.Exists(env, in.Path) {
		missing := file.Missing(env, in.Path)
		out.text += "\n[" + missing.Fact + " yet; it is watched from its beginning]"
		if strings.HasPrefix(missing.Next, "Did you mean") {
			out.text += "\n[" + missing.Next + "]"
		}
	}
	return tools.Result[Output]{
		Data: out, Effect: session.Effect{Output: source.Output().Path()}, Meta: task.Meta(t.ID, tasks.Status{State: tasks.Running}), Did: &tools.Did{Task: t.ID},
	}, nil
}

// open starts what a monitor reads. It returns the offset in the output from which on lines
// are events.
func open(ctx context.Context, env *tools.Env, in prepared, o Options) (source tasks.Job, from int64, err error) {
	switch {
	case in.command != nil:
		source, err = in.command.Start(ctx, env, in.limit())
		return source, 0, err
	case in.Path != "":
		source, err = follow(ctx, env, in, o)
		return source, 0, err
	}
	t, err := task.Find(env, o.Bash.Tasks, in.TaskID)
	if err != nil {
		return nil, 0, err
	}
	if t.Status().State != tasks.Running {
		return nil, 0, fault.New("the background task "+t.ID+" has ended", "TaskOutput shows its output.")
	}
	from, _ = t.Output().Bytes()
	s := newSource(o.Running, in.limit(), t.Output())
	s.shared, s.title = true, "task "+t.ID
	go func() {
		select {
		case <-t.Done():
			s.end(tasks.Completed, "the task "+t.ID+" has ended")
		case <-s.ending:
		}
		s.finish()
	}()
	return s, from, nil
}
