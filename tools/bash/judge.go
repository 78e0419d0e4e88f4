package bash

import (
	"slices"
	"strings"

	"mcp-toolset/internal/command"
	"mcp-toolset/internal/shellsafe"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
)

// judged is what is known of a command without running it. It is made once for
// a call, and what it says is what runs.
type judged struct {
	*shellsafe.Analysis
	distrust string // why a program is not known to be what its name says
}

// judge analyses a command as it would run in the session.
func judge(env *tools.Env, c *command.Commands, text string) *judged {
	j := &judged{Analysis: shellsafe.Analyse(text, shellsafe.Options{
		Dir: env.Session.Dir, Roots: env.Session.Roots, Home: env.Home, LookPath: c.Trusted,
	})}
	if !j.ReadOnly {
		return j
	}
	for _, cmd := range j.Analysis.Commands {
		if cmd.Name == "" || strings.Contains(cmd.Words[0], "/") {
			continue
		}
		if _, ok := c.Trusted(cmd.Name); !ok {
			j.distrust = cmd.Name + " is in a folder that commands may write to, or of programs that choose others"
		}
	}
	return j
}

// readOnly reports whether the command is known to only read.
func (j *judged) readOnly() bool { return j != nil && j.ReadOnly && j.distrust == "" }

// moves reports whether the command may leave the session in another folder:
// then calls behind it have to wait for it.
func (j *judged) moves() bool {
	return slices.ContainsFunc(j.Analysis.Commands, func(c shellsafe.Command) bool {
		return c.Name == "cd" || c.Name == "pushd" || c.Name == "popd"
	})
}

// list is the simple commands.
func (j *judged) list() []string {
	out := []string{}
	for _, c := range j.Analysis.Commands {
		out = append(out, c.Text)
	}
	return out
}

// matches reports whether a rule Bash(pattern) covers the command. One that
// denies or asks does if any part matches, also inside of wrappers and
// substitutions, or if it is not known what parts there are. One that allows
// has to match every part as it stands.
func (j *judged) matches(b policy.Behavior, pattern string) bool {
	if j == nil {
		return b != policy.Allow
	}
	match := commandPattern(pattern)
	if b == policy.Allow {
		return j.AllowedBy(func(c *shellsafe.Command) bool { return match(c.Text) })
	}
	if j.Unresolved != "" {
		return true
	}
	return slices.ContainsFunc(j.Analysis.Commands, func(c shellsafe.Command) bool {
		return match(c.Text) || match(c.DenyText())
	})
}

// commandPattern compiles the pattern of a rule: * stands for any characters,
// and a blank or colon before a last one is the boundary of a word, so that `npm
// run *` and `npm run:*` cover `npm run` and not `npm runner`.
func commandPattern(pattern string) func(text string) bool {
	if prefix, ok := strings.CutSuffix(pattern, ":*"); ok {
		pattern = prefix + " *"
	}
	prefix, boundary := strings.CutSuffix(pattern, " *")
	parts := strings.Split(pattern, "*")
	return func(text string) bool {
		if boundary && !strings.Contains(prefix, "*") && text == prefix {
			return true
		}
		return wild(parts, text)
	}
}

// wild matches a text with parts that have any characters between them.
func wild(parts []string, text string) bool {
	if len(parts) == 1 {
		return text == parts[0]
	}
	text, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		_, rest, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = rest
	}
	return strings.HasSuffix(text, parts[last])
}
