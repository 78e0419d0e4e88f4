package bash

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// containment lists the methods of command.Commands that check uses.
type containment interface {
	Uncontained(context.Context) error
	Open(ctx context.Context, denied bool) []string
	Exposed(context.Context) bool
	NetworkContained(context.Context) error
	Sandboxed() command.Mode
}

// check returns the tool's own decision on a call, or nil for none. It asks or denies
// unless the sandbox prevents harm by the command or the analysis rules it out. An
// allow rule or a mode may answer an ask decision. With harmless, the kernel prevents
// changes by the call.
func check(env *tools.Env, c containment, j *judged, harmless bool) *policy.Decision {
	// Git reads without running programs of the repository only by the text that is generated here.
	itself := env.Commands.Uncontained && j != nil && len(j.GitDirs) > 0
	if harmless || j.readOnly() && !itself {
		return unnamed(env, c, j, harmless)
	}
	ctx := context.Background()
	why := c.Uncontained(ctx)
	if env.Commands.Uncontained {
		why = errElsewhere
	}
	if why != nil {
		return &policy.Decision{
			Behavior: policy.Ask,
			Reason:   fmt.Sprintf("commands are not contained here (%v), and this one is not known to only read", why),
			Next:     "ask the user to allow it",
			Suggest:  true,
		}
	}
	if text, only := j.ends(); text != "" && only && (!j.signals() || c.Sandboxed() == command.On) {
		return &policy.Decision{
			Behavior: policy.Deny,
			Reason:   plain.Line(text) + " would find no process: a command in the sandbox sees only its own",
			Next:     "use TaskStop for a background task, send kill with the process number as a command of its own, or set dangerouslyDisableSandbox to true, which asks the user",
		}
	}
	if text := j.network(); text != "" {
		if why := c.NetworkContained(ctx); why != nil {
			return &policy.Decision{
				Behavior: policy.Ask,
				Reason:   fmt.Sprintf("%s uses the network, and commands have that of this machine (%v)", plain.Line(text), why),
				Next:     `ask the user to allow it or to set "network": "allow"`,
				Suggest:  true,
			}
		}
	}
	open := c.Open(ctx, env.Commands.ReadDenied)
	if len(open) == 0 {
		return unnamed(env, c, j, harmless)
	}
	return &policy.Decision{
		Behavior: policy.Ask,
		Reason: fmt.Sprintf("this system cannot keep commands from %s, and this one cannot be shown to keep off them",
			strings.Join(open, " and ")),
		Next:    "see mcp-toolset doctor, and ask the user to allow it",
		Suggest: true,
	}
}

// errElsewhere is the reason for a command that another program runs.
var errElsewhere = errors.New("the program that asks runs outside of the sandbox")

// unnamed asks about a call that may print contents that a Read rule covers although
// the call does not name the files. These are contents that git stores and, on systems
// that cannot hide such files from commands, files that the command finds. It returns
// nil if there is nothing to ask.
func unnamed(env *tools.Env, c containment, j *judged, harmless bool) *policy.Decision {
	if env.Commands.ReadRule == "" || j == nil {
		return nil
	}
	if text := j.GitContents(); text != "" {
		return &policy.Decision{
			Behavior: policy.Ask,
			Reason:   fmt.Sprintf("%s may print versions of files that the rule %s covers", plain.Line(text), plain.Line(env.Commands.ReadRule)),
			Next:     "name one file as REV:PATH, or ask the user to allow it",
			Suggest:  true,
		}
	}
	text := ""
	switch {
	case !j.readOnly() && harmless:
		text = "this command"
	case j.readOnly():
		text = j.Unnamed()
	}
	if text == "" || !env.Commands.Uncontained && !c.Exposed(context.Background()) {
		return nil
	}
	return &policy.Decision{
		Behavior: policy.Ask,
		Reason:   fmt.Sprintf("this system cannot keep commands from files that the rule %s covers, and %s may read one", plain.Line(env.Commands.ReadRule), plain.Line(text)),
		Next:     "use Grep or Read, name each file that the command reads, or ask the user to allow it",
		Suggest:  true,
	}
}
