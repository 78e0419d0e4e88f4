package tools

import (
	"context"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
)

// CommandAccess holds what the rules say about the files that commands of a call may access,
// and tracks commands that outlive the call.
type CommandAccess struct {
	ReadDenied bool   // rules deny reading some file in the roots
	ReadRule   string // one of these rules, if it may cover a file in the roots; otherwise ""

	// HidingRule returns the text of the rule that hides a canonical path from commands, or
	// "" if none does. It is nil if there are no rules.
	HidingRule func(path string) string

	// RestrictedPaths returns the paths with special access, as far as they can be found. It searches
	// the roots for them.
	RestrictedPaths func(context.Context) (RestrictedPaths, error)

	// Outside reports that the call leaves something running that may change files until
	// done is called. The caller calls done once.
	Outside func() (done func())
}

// RestrictedPaths lists the paths with special access for commands. A folder includes everything below
// it.
type RestrictedPaths struct {
	Hidden    []string // must not be read; need not exist
	Unchanged []string // may be read, not changed
	Names     []string // protected names that must not be created
	Grants    []Grant  // may be used although they are outside of the workspace
}

// Grant is the access to a file, or to a folder and everything below it, that an approval
// or a setting adds for a command.
type Grant struct {
	Path      string // canonical
	Access    policy.Access
	Create    bool // the file does not exist and must be created, empty, before the command starts
	List      bool // only listing names is allowed, at any depth
	Uncertain bool // the call may not change it at all: it was only given the path
}

// String returns a description of the grant for users and models.
func (g Grant) String() string {
	if g.List {
		return "listing the names below " + plain.Line(g.Path)
	}
	if g.Access == policy.Edit {
		return "changing " + plain.Line(g.Path)
	}
	return "reading " + plain.Line(g.Path)
}
