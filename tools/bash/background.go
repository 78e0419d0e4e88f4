package bash

import (
	"context"
	"time"

	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/internal/exec/spool"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// Background is a command that another tool runs in the background. Its methods are what a
// call of Bash with run_in_background has for the policy.
type Background struct {
	in prepared
	o  Options
}

// Prepare checks and analyses a command. Its error is for the model.
func Prepare(o Options, env *tools.Env, text string) (*Background, error) {
	o = o.withDefaults()
	if err := checkPosix(o.Commands); err != nil {
		return nil, &tools.Fault{Fact: "commands cannot run here: " + err.Error(), Next: "Ask the user to look at that with mcp-toolset doctor."}
	}
	in := Input{Command: shellsafe.Normalize(text), RunInBackground: true}
	j := judge(env, o.Commands, in.Command)
	return &Background{prepared{in, j}, o}, in.validate(o, "Bash", j)
}

// Describe returns one line on the command for the user.
func (b *Background) Describe(description string) string { return describe(b.in.Command, description) }

// ReadOnly reports whether the command is known to only read.
func (b *Background) ReadOnly() bool { return b.in.readOnly() }

// ConcurrencySafe reports whether the command may start beside other calls.
func (b *Background) ConcurrencySafe() bool { return b.in.readOnly() && !b.in.judged.moves() }

// Destructive reports whether the command may destroy data that cannot be recovered.
func (b *Background) Destructive() bool { return b.in.judged.destructive() }

// Parts returns the parts of the command.
func (b *Background) Parts(env *tools.Env) *tools.Parts {
	return b.in.judged.parts(env, b.o.Commands, b.in.Command, false)
}

// Check returns the decision of Bash, or nil if it has none.
func (b *Background) Check(env *tools.Env) *policy.Decision {
	return check(env, b.o.Commands, b.in.judged, false)
}

// Grants returns the grants that the sandbox of the command needs.
func (b *Background) Grants(opens []policy.Target) ([]tools.Grant, error) {
	return grants(b.o.Commands, b.in.judged, opens, b.in.judged.readOnly())
}

// Start starts the command and returns it as a job, which the caller must register or stop.
// The job ends after limit, if that is not 0.
func (b *Background) Start(ctx context.Context, env *tools.Env, limit time.Duration) (task.Job, error) {
	c := b.in.call(b.o, env, "Bash")
	j, err := c.start(ctx)
	if err != nil {
		return nil, err
	}
	if limit > 0 {
		j.limitTo(limit, limit)
	}
	e := newTaskJob(j)
	c.follow(e)
	return e, nil
}

// NewLog makes an output log for a task that is no command.
func (o Options) NewLog(name string) (*spool.Log, error) { return o.Commands.NewLog(name) }
