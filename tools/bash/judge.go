package bash

import (
	"runtime"
	"slices"
	"strings"

	"mcp-toolset/internal/command"
	"mcp-toolset/internal/powershell"
	"mcp-toolset/internal/shellsafe"
	"mcp-toolset/tools"
)

// judged is what is known of a command without running it. It is made once for
// a call, and what it says is what runs.
type judged struct {
	*shellsafe.Analysis
	dir        string
	roots      []string
	syntax     string              // the syntax error of the command; "" if it has none
	powerShell *powershell.Command // of PowerShell; Analysis is then empty
	distrust   string              // why a program that is harmless by its name is not known to be what that says
}

// judge analyses a command as it would run in the session.
func judge(env *tools.Env, c *command.Commands, text string) *judged {
	j := &judged{dir: env.Session.Dir, roots: env.Session.Roots, Analysis: shellsafe.Analyse(text, shellsafe.Options{
		Dir: posixPath(env.Session.Dir), Roots: posixPaths(env.Session.Roots), Home: posixPath(env.Home), LookPath: c.Trusted,
	})}
	if runtime.GOOS == "windows" && j.Unresolved == "" {
		j.Unresolved = unknownOnWindows(j.Analysis)
	}
	// The parser alone is not believed: it fails on some texts that bash accepts,
	// such as a here-document without an end. What both refuse never runs, so nobody
	// need be asked about it. Where only the parser fails, the user is.
	if j.Syntax != "" && c.Malformed(text) {
		j.syntax = j.Syntax
	}
	for i := range j.Analysis.Commands {
		cmd := &j.Analysis.Commands[i]
		if cmd.Name == "" || strings.Contains(cmd.Words[0], "/") || !j.ReadOnly && !cmd.ReadOnly && !cmd.Edits() {
			continue // nothing is taken on trust from its name
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

// destructive reports whether the command may destroy what cannot be had back.
func (j *judged) destructive() bool {
	return j == nil || j.Unresolved != "" || slices.ContainsFunc(j.Analysis.Commands, func(c shellsafe.Command) bool { return c.Destructive() != "" })
}
