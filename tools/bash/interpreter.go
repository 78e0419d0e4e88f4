package bash

import (
	"cmp"
	"context"
	"os"
	"strings"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// unknownCode stands for the code of an interpreter, of which nothing is known before it runs.
var unknownCode = &judged{Analysis: &shellsafe.Analysis{Unresolved: "it is code of an interpreter"}}

// StartInterpreter starts a script that runs an interpreter, as a command of the session that
// may write and is contained where commands are. input and errs are the ends of pipes for its
// standard input and standard error. StartInterpreter closes them. The caller calls done after
// the end of the command.
func StartInterpreter(ctx context.Context, o Options, env *tools.Env, name, script string, input, errs *os.File) (r *command.Running, done func(), err error) {
	defer input.Close()
	defer errs.Close()
	c := &call{o: o.withDefaults(), env: env, tool: name, command: script, judged: unknownCode}
	spec, err := c.spec(ctx)
	if err != nil {
		return nil, nil, err
	}
	spec.Input, spec.Errors = input, errs
	if r, err = o.Commands.Start(ctx, spec); err != nil {
		return nil, nil, c.startError(ctx, err)
	}
	return r, env.Commands.Outside(), nil
}

// CheckInterpreter returns the decision on code of an interpreter: ask where commands are not
// contained, otherwise nil. rule is a rule that would allow the code.
func CheckInterpreter(o Options, env *tools.Env, rule string) *policy.Decision {
	d := check(env, o.Commands, unknownCode, false)
	if d != nil {
		d.Reason = strings.NewReplacer("this one is not known to only read", "code may do anything",
			"this one cannot be shown to keep off them", "code cannot be shown to keep off them").Replace(d.Reason)
		d.Suggest = false
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
	for _, part := range j.parts(nil, o.Commands, code, false).List {
		p.List = append(p.List, policy.Part{
			Text: part.Text, Name: part.Name, Forms: part.Forms, KnownPrefix: part.KnownPrefix, Possible: part.Possible, Caseless: part.Caseless,
		})
	}
	return p
}
