package bash

import (
	"context"
	"fmt"
	"strings"

	"mcp-toolset/internal/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// containment is what check asks of command.Commands.
type containment interface {
	Uncontained(context.Context) error
	Open(ctx context.Context, denied bool) []string
}

// check is the tool's own opinion on a call: what the containment does not hold
// has to be shown not to happen, or a person has to agree: now, or by a rule or
// a mode.
func check(env *tools.Env, c containment, j *judged) *policy.Decision {
	if j.readOnly() {
		return nil
	}
	ctx := context.Background()
	if why := c.Uncontained(ctx); why != nil {
		return &policy.Decision{
			Behavior: policy.Ask,
			Reason:   fmt.Sprintf("commands are not contained here (%v), and this one is not known to only read", why),
			Next:     "a person can allow it by a rule such as Bash(make *) in the settings, or by --mode bypassPermissions",
		}
	}
	if text := j.elsewhere(); text != "" && j.destructive() && !j.signals() {
		return &policy.Decision{
			Behavior: policy.Deny,
			Reason:   plain.Line(text) + " would find no process: a command in the sandbox sees only its own",
			Next:     "use TaskStop for a background task, send kill with the process number as a command of its own, or set dangerouslyDisableSandbox to true, which asks the user",
		}
	}
	open := c.Open(ctx, env.ReadDenied)
	if len(open) == 0 {
		return nil
	}
	return &policy.Decision{
		Behavior: policy.Ask,
		Reason: fmt.Sprintf("this system cannot keep commands from %s, and this one cannot be shown to keep off them",
			strings.Join(open, " and ")),
		Next: "a person can allow it by a rule such as Bash(make *) in the settings, or by --mode bypassPermissions; mcp-toolset doctor says more",
	}
}
