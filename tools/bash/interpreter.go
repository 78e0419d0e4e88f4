package bash

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// unknownCode stands for the code of an interpreter, of which nothing is known before it runs.
var unknownCode = &judged{Analysis: &shellsafe.Analysis{Unresolved: "it is code of an interpreter"}}

// Pipes returns the ends of two pipes that a command gets, as standard input and standard error,
// and the other ends.
type Pipes func() (input, errs *os.File, err error)

// StartInterpreter starts a script that runs an interpreter, as a command of the session that
// may write and is contained where commands are. pipes is called for each attempt. The caller
// calls done after the end of the command.
func StartInterpreter(ctx context.Context, o Options, env *tools.Env, name, script string, pipes Pipes) (r *command.Running, done func(), err error) {
	c := &call{o: o.withDefaults(), env: env, tool: name, command: script, judged: unknownCode}
	spec, err := c.spec(ctx)
	if err != nil {
		return nil, nil, err
	}
	for range 2 {
		if spec.Input, spec.Errors, err = pipes(); err != nil {
			if f := fault.Descriptors("the interpreter could not be started", err); f != nil {
				err = f
			}
			return nil, nil, err
		}
		if r, err = o.Commands.Start(ctx, spec); err == nil {
			return r, env.Commands.Outside(), nil
		}
		if !errors.Is(err, process.ErrNetworkGone) {
			break
		}
	}
	return nil, nil, c.startError(ctx, err)
}

// CheckInterpreter returns the decision on code of an interpreter: ask where commands are not
// contained, otherwise nil. rule is a rule that would allow the code.
func CheckInterpreter(o Options, env *tools.Env, rule string) *policy.Decision {
	d := check(env, o.Commands, unknownCode, false)
	if d != nil {
		d.Reason = strings.NewReplacer("this one is not known to only read", "code may do anything",
			"this one cannot be shown to keep off them", "code cannot be shown to keep off them").Replace(d.Reason)
		d.Next = "ask the user to allow it, for good by a rule such as " + rule + " in the settings; mcp-toolset doctor shows more"
	}
	return d
}

// InterpreterParts returns the parts of code for a shell that keeps its state. Deny and ask rules
// cover them as those of a command. Allow rules do not, since names may mean something else in
// the shell.
func InterpreterParts(o Options, env *tools.Env, code string) *tools.Parts {
	j := judge(env, o.Commands, code)
	p := &tools.Parts{Text: code, Incomplete: cmp.Or(j.Unresolved, j.Incomplete), List: []policy.Part{{Text: "bash", Name: "bash"}}}
	for _, part := range j.parts(o.Commands, code, false).List {
		p.List = append(p.List, policy.Part{
			Text: part.Text, Name: part.Name, Forms: part.Forms, KnownPrefix: part.KnownPrefix, Caseless: part.Caseless,
		})
	}
	return p
}
