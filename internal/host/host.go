// Package host is the table of the agent clients that were tried: how each differs from what
// the protocol leads a server to expect. All that depends on the name of a client follows from
// it.
package host

import (
	"strings"
)

// Host describes an agent client. The zero value describes a client that is not known.
type Host struct {
	Name  string // in documents and for `mcp-toolset install`
	Sends string // its name at initialize; a * at the end stands for any text
	Tried string // the version that was tried

	Defers bool // it defers the definitions of tools itself
	// Forgets reports that over HTTP it speaks protocol 2026-07-28, which has no sessions, and
	// does not send the handle of a session back.
	Forgets bool
	// Parses reports that it takes the first text of a result for structured content if the
	// text is JSON, and fails if that is no object.
	Parses bool
	Keys   []string // names of properties that it adds to the input of each tool
	// Barrier is the one of Keys that is true if a call must wait for all earlier ones; "": none.
	Barrier string
	// Whole selects the results that its model gets as a whole, as JSON in a text, with _meta.
	Whole Whole
	// Prefix precedes the names of our tools, if the client lists the tools of all servers and its
	// own under their own names.
	Prefix string
	// ListsOnce reports that it does not ask again for a list of tools that has changed.
	ListsOnce bool
	// Shares reports that its agents, main and others, share a session, because it does not say
	// which of them makes a call.
	Shares bool
	// NeedsText reports that its dialog cannot leave an optional text empty.
	NeedsText bool
	// Has lists the features of tools that it has of its own: skills of the same folders, or what
	// a session has, where its agents share the session but not what the client has. Our tools of
	// these features are not listed, unless they are switched on.
	Has []string
}

// Whole selects results of calls.
type Whole uint8

const (
	WholeNone   Whole = iota
	WholeFailed       // those of failed calls
	WholeAll          // all, so that its model sees only text
)

// Table holds the clients that were tried.
var Table = []Host{
	{Name: "claude-code", Sends: "claude-code", Tried: "2.1.332", Defers: true, Forgets: true, Shares: true, Has: []string{"plan", "worktrees", "skills"}},
	{Name: "cline", Sends: "@cline/core", Tried: "3.0.65", Whole: WholeAll, ListsOnce: true},
	{Name: "codex", Sends: "codex-mcp-client", Tried: "0.171.0", NeedsText: true, ListsOnce: true},
	{Name: "continue", Sends: "continue-cli-client", Tried: "1.5.47", Prefix: "toolset_", Whole: WholeAll, ListsOnce: true},
	{Name: "gemini-cli", Sends: "gemini-cli-mcp-client*", Tried: "0.61.0", Parses: true, Whole: WholeFailed, Shares: true, Has: []string{"plan"}, Keys: []string{"wait_for_previous"}, Barrier: "wait_for_previous"},
	{Name: "opencode", Sends: "opencode", Tried: "1.18.33", Shares: true, Has: []string{"skills"}},
	{Name: "qwen-code", Sends: "qwen-cli-mcp-client-*", Tried: "0.24.4", Defers: true, Whole: WholeFailed, ListsOnce: true, Shares: true, Has: []string{"worktrees"}},
}

// Of returns the client with a name, as it sent it at initialize.
func Of(name string) Host {
	name = strings.ToLower(name)
	for _, h := range Table {
		start, any := strings.CutSuffix(h.Sends, "*")
		if name == start || any && strings.HasPrefix(name, start) {
			return h
		}
	}
	return Host{}
}

// Named returns the client with a name of the table.
func Named(name string) Host {
	for _, h := range Table {
		if h.Name == name {
			return h
		}
	}
	return Host{}
}
