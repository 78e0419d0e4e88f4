package bash

import (
	"runtime"
	"slices"
	"strings"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/powershell"
	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/tools"
)

// judged holds the analysis of a command, made without running it. It is made once per
// call, and the call runs exactly what was analysed.
type judged struct {
	*shellsafe.Analysis
	dir        string
	roots      []string
	syntax     string              // syntax error of the command; "" if it has none
	powerShell *powershell.Command // set for PowerShell; Analysis is then empty
	terminal   bool                // whether the command gets a terminal
	gitPlan    *command.GitPlan    // what git in it would do to protected files, once gitPlanned
	gitPlanned bool
	kernel     bool   // whether the kernel can prevent changes by a command that only Views
	distrust   string // why the command may change something although its text only reads; "" if it may not
}

// judge analyses a command as it would run in the session.
func judge(env *tools.Env, c *command.Commands, text string) *judged {
	return judgeWith(env, c, text, false)
}

// judgeWith is judge for a command whose standard input or terminal may be open for what is
// only known later.
func judgeWith(env *tools.Env, c *command.Commands, text string, input bool) *judged {
	j := &judged{dir: env.Session.Dir, roots: env.Session.Roots, Analysis: shellsafe.Analyse(text, shellsafe.Options{
		Dir: posixPath(env.Session.Dir), Roots: posixPaths(env.Session.Roots), Home: posixPath(env.Home), LookPath: c.Trusted, Input: input,
	})}
	if runtime.GOOS == "windows" && j.Unresolved == "" {
		j.Unresolved = unknownOnWindows(j.Analysis)
	}
	// The parser alone is not enough: it rejects some texts that bash accepts, such as
	// a here-document without an end. A command that both reject never runs, so it
	// needs no approval. If only the parser rejects it, the user is asked.
	if j.Syntax != "" && c.Malformed(text) {
		j.syntax = j.Syntax
	}
	for i := range j.Analysis.Commands {
		cmd := &j.Analysis.Commands[i]
		if cmd.Name == "" || strings.Contains(cmd.Words[0], "/") || !j.ReadOnly && !cmd.ReadOnly && !cmd.Edits() {
			continue // its name alone makes nothing read-only or an edit
		}
		if _, ok := c.Trusted(cmd.Name); !ok {
			j.distrust = cmd.Name + " is in a folder that commands may write to, or of programs that choose others"
		}
	}
	return j
}

// readOnly reports whether the command is known to only read.
func (j *judged) readOnly() bool {
	return j != nil && j.distrust == "" && (j.ReadOnly || j.Looks || j.views())
}

// views reports whether the command runs as one of BashReadOnly does: the kernel then prevents
// changes.
func (j *judged) views() bool { return j != nil && j.kernel && j.Views && j.distrust == "" }

// moves reports whether the command may change the working directory of the session.
// Later calls then have to wait for it.
func (j *judged) moves() bool {
	return slices.ContainsFunc(j.Analysis.Commands, func(c shellsafe.Command) bool {
		return c.Name == "cd" || c.Name == "pushd" || c.Name == "popd"
	})
}

// network returns the first part that is known to use the network, or "" if there is none.
func (j *judged) network() string {
	if j == nil {
		return ""
	}
	for i := range j.Analysis.Commands {
		if c := &j.Analysis.Commands[i]; c.Network() {
			return c.Text
		}
	}
	return ""
}

// destructive reports whether the command may destroy data that cannot be recovered. It
// returns true for a command that could not be analysed.
func (j *judged) destructive() bool {
	return j == nil || j.Unresolved != "" || slices.ContainsFunc(j.Analysis.Commands, func(c shellsafe.Command) bool { return c.Destructive() != "" })
}
