package tools

import (
	"context"
	"net/netip"

	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/web/site"
)

// CommandAccess holds what the rules say about the files that commands of a call may access,
// and tracks commands that outlive the call.
type CommandAccess struct {
	// Uncontained reports that the call is only decided, for a program that makes it outside of the
	// sandbox.
	Uncontained bool

	ReadDenied bool   // rules deny reading some file in the roots
	ReadRule   string // one of these rules, if it may cover a file in the roots; otherwise ""

	// HidingRule returns the text of the rule that hides a canonical path from commands, or
	// "" if none does. It is nil if there are no rules.
	HidingRule func(path string) string

	// RestrictedPaths returns the paths with special access, as far as they can be found. It searches
	// the roots for them.
	RestrictedPaths func(context.Context) (RestrictedPaths, error)

	// Connections decides on the connections that the commands of the call make. It is also
	// used after the end of the call.
	Connections Connections

	// Outside reports that the call leaves something running that may change files until
	// done is called. The caller calls done once.
	Outside func() (done func())
}

// ErrBackground is the error of Connections.Allow for a host that browsers reach by themselves, and
// about which the user is not asked.
var ErrBackground = fault.New("browsers make such requests in the background, so the user was not asked", "Ignore it, or ask the user for an allow rule on the host if it is needed.")

// Connections decides on connections of commands. Its errors are of type *fault.Fault.
type Connections struct {
	// Allow returns an error unless commands may connect to the site. It may ask the user and
	// wait for the answer.
	Allow func(context.Context, site.Site) error
	// CheckAddr returns an error unless a connection to an address of the site may be made.
	CheckAddr func(site.Site, netip.Addr) error
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
