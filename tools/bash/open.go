package bash

import (
	"context"
	"errors"
	"slices"
	"strings"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// unsandboxed returns the decision on a call that leaves the sandbox: ask, or deny if
// the server requires the sandbox. No rule and no mode answers the question.
func unsandboxed(c *command.Commands) *policy.Decision {
	if c.Sandboxed() == command.On {
		return &policy.Decision{
			Behavior: policy.Deny, Reason: "this server runs no command outside of the sandbox (--sandbox on)",
			Next: "leave dangerouslyDisableSandbox out",
		}
	}
	return &policy.Decision{
		Behavior: policy.Ask, Layer: policy.LayerSandbox,
		Reason: "dangerouslyDisableSandbox runs the command outside of the sandbox, with all rights of the user",
		Next:   "leave dangerouslyDisableSandbox out",
	}
}

// grants returns the accesses that a confined command needs for the files that the
// policy opens, or a fault if the sandbox cannot give them. It returns nil if commands
// are not confined.
func grants(c *command.Commands, j *judged, opens []policy.Target, readOnly bool) ([]tools.Grant, error) {
	if c.Uncontained(context.Background()) != nil {
		return nil, nil
	}
	how := j.operands()
	var wants []command.FileRequest
	for _, t := range opens {
		w := command.FileRequest{Path: t.Canonical, Change: t.Access == policy.Edit}
		n, known := how[t.Literal]
		switch {
		case known && w.Change:
			w.Content, w.Remove = n.Content, n.Below
		case known && n.Uncertain && !readOnly:
			w.Change, w.Uncertain = true, true // the pipeline checks whether the change is permitted
		}
		wants = append(wants, w)
	}
	given, err := c.Grants(wants, readOnly)
	var cannot *command.GrantError
	if errors.As(err, &cannot) {
		return nil, cannotOpen(cannot)
	}
	if err != nil {
		return nil, err
	}
	out := make([]tools.Grant, len(given))
	for i, g := range given {
		out[i] = tools.Grant{Path: g.Path, Create: g.Create, List: g.List, Uncertain: g.Uncertain}
		if g.Change {
			out[i].Access = policy.Edit
		}
	}
	return out, nil
}

func cannotOpen(e *command.GrantError) *tools.Fault {
	next := "If it has to be, set dangerouslyDisableSandbox to true, which asks the user."
	if e.Broad {
		next = "Name the files or folders that are meant."
	} else if e.Temporary {
		next = "Use $TMPDIR for temporary files. " + next
	}
	return &tools.Fault{Fact: "the sandbox cannot let this command use " + plain.Line(e.Path) + ": " + e.Reason, Next: next}
}

// operands returns the files that the command writes or may write, by the path that the
// policy uses. For a file that is written in several ways, Content is true only if it
// is true for all of them.
func (j *judged) operands() map[string]shellsafe.Path {
	out := map[string]shellsafe.Path{}
	for _, n := range j.Reads {
		if n.Uncertain && !n.Glob && !n.Dynamic {
			out[named(n)] = n
		}
	}
	for _, n := range j.Writes {
		if n.Glob || n.Dynamic {
			continue
		}
		path := named(n)
		if old, ok := out[path]; ok && !old.Uncertain {
			n.Content, n.Below = n.Content && old.Content, n.Below || old.Below
		}
		out[path] = n
	}
	return out
}

// signals reports whether the command only sends signals to processes that it names by
// number, none of them a process of this server. In a PID namespace of its own it would
// find none of them, so an allowed command of this kind runs outside the sandbox.
func (j *judged) signals() bool {
	if j == nil || j.Unresolved != "" || len(j.Analysis.Commands) == 0 || len(j.Writes)+len(j.Reads) > 0 {
		return false
	}
	return !slices.ContainsFunc(j.Analysis.Commands, func(c shellsafe.Command) bool {
		numbers := numbered(&c)
		return !c.Allowable || !c.Literal || c.Words[0] != "kill" || len(numbers) == 0 || slices.ContainsFunc(numbers, process.Own)
	})
}

// numbered returns the process numbers that a kill names. It returns nil if the kill
// also names a group or all processes (-1), or more than one signal.
func numbered(c *shellsafe.Command) (numbers []string) {
	if c.Name != "kill" || !c.Literal {
		return nil
	}
	for i, w := range c.Words[1:] {
		switch {
		case i == 0 && strings.HasPrefix(w, "-"), w == "--", i == 1 && (c.Words[i] == "-s" || c.Words[i] == "-n"):
		case w != "" && strings.Trim(w, "0123456789") == "" && strings.Trim(w, "0") != "":
			numbers = append(numbers, w)
		default:
			return nil
		}
	}
	return numbers
}

// ending lists programs that end processes.
var ending = []string{"kill", "pkill", "killall", "skill", "fuser"}

// ends returns the text of a command that ends processes other than those that the call certainly
// started; "" if there is none. only reports whether the call does nothing else. In the sandbox such
// a command sees only the processes of the call.
func (j *judged) ends() (text string, only bool) {
	if j == nil {
		return "", false
	}
	only = true
	for i := range j.Analysis.Commands {
		c := &j.Analysis.Commands[i]
		switch {
		case !slices.Contains(ending, c.Name):
			only = only && (c.Name == "true" || c.Name == ":")
		case c.Destructive() == "":
			only = false // it sends no signal, or to a job of the shell
		case c.Name != "kill" || c.Literal || strings.Contains(c.Text, "$(") || strings.Contains(c.Text, "`"):
			text = c.Text
		default:
			only = false
		}
	}
	return text, only
}
