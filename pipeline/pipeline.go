// Package pipeline is the path that every call takes, for all clients and
// transports. It has these stages, each a method of call:
//
//	lookup    find the tool by its name
//	unwrap    replace a call of a tool such as CallTool by the inner call
//	connect   wait for the tool's upstream server
//	loggable  refuse the call if the audit log cannot be written
//	parse     decode the arguments
//	prepare   complete and check the input
//	consult   run the user's hooks, which may change the input
//	decide    ask the policy
//	classify  ask the classifier
//	ask       ask the user
//	settle    decide again if the settings have changed meanwhile
//	execute   run the tool, then the user's hooks
//	finish    limit the answer and write the call to the audit log
//
// Read Run from top to bottom. The stages from prepare on wait for the call's
// turn in its lane. Nested calls take the same stages in the place of the outer
// call; Explain takes those that need no user and have no effect.
//
// Tools describe, policy decides, and the scheduler orders. Only this package
// turns an error into an answer, and each refusal names its stage.
//
// # Nested calls
//
// A call made by a running call (Env.Call) is parsed, decided, limited and
// recorded by itself. It does not wait for a place or a slot, so it can neither
// deadlock nor count twice. A call makes such calls one at a time. Their effects
// on the session apply at once if the outer call is unsafe, which runs alone.
// Otherwise they apply in order of arrival.
//
// # Parts and grants
//
// The parts of a call are the simple commands of a shell text and the files
// they name. The tool lists them, this package follows links and expands shell
// patterns, and the policy judges them.
//
// A decision names the files that the sandbox would block (Decision.Opens). The
// tool turns them into grants, or refuses the call before the user is asked.
// The question shows the grants, and a stored approval or decline holds only
// for the same grants.
//
// A sandbox knows no patterns. If there are rules on paths, the roots are
// searched before each command for the files that the rules close: files that
// must not be read are hidden, others are protected from changes. Deny rules
// close files, and so do ask rules unless the user or a hook has approved the
// call.
//
// # Deduplication
//
// Sessions share a running read-only call only if Def.Shared allows it. A result
// that is private to a session, such as one stored for it, is not shared; the
// other call then runs by itself. Calls that must not be interrupted, and calls
// with hooks after them, are not shared.
//
// # Memory
//
// Calls with large inputs wait in order for a budget. A long result is stored
// while it is written (Env.Results); only its two ends are in memory.
package pipeline

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"mcp-toolset/concurrency"
	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/event"
	"mcp-toolset/internal/file/snapshot"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/internal/record/journal"
	"mcp-toolset/internal/record/results"
	"mcp-toolset/internal/record/undo"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// Private maps the paths of the commands of a session; see command.Private.
type Private interface {
	Real(path string, made bool) string
	Owns(canonical string) bool
	Own(path string) bool
	Layered(path string) (at string, merged bool)
	LayerFolders() []string
	Reads(canonical string, command, uncertain bool) bool
	Contained() bool // whether the kernel keeps commands from what they may not use
	Shown(text string) string
}

// Config holds the parts that a pipeline uses. All fields are required except
// Now and those with a documented zero value.
type Config struct {
	Registry *tools.Registry
	Roots    *workspace.Roots
	Results  *results.Store
	Home     string // the user's home folder, "" if there is none
	Notice   string // added to the first result of each session; "": none
	Now      func() time.Time

	// Snapshots caches the content of files as sessions have seen them. It is
	// the cache of the tools on files. It may be nil.
	Snapshots *snapshot.Cache

	// Await connects the upstream server that an unknown tool name may belong
	// to. It is nil without upstream servers.
	Await func(ctx context.Context, tool string)

	// Shared deduplicates identical calls. If nil, each call runs.
	Shared *concurrency.Group

	// Cascade selects which calls of its burst a failed command cancels.
	Cascade Cascade

	// Rules holds at the start. Policy is required.
	Rules Rules

	// Reload calls SetRules if the settings have changed. It is called for each call. It may be
	// nil.
	Reload func()

	// Changing is called before an allowed call changes a file. It may be nil.
	Changing func(path string)

	// Summaries selects the results that a model summarizes.
	Summaries Summaries

	// Journal records the calls of each session. It may be nil.
	Journal *journal.Journal

	// Undo records what calls change in the workspace. It may be nil.
	Undo *undo.Store

	// Applies returns a note on a file that a tool has read or changed, for the answer of a
	// session; "": none. It may be nil.
	Applies func(v session.View, tool, path string) string

	// Private returns the mapping of the paths of a session's commands. It may be nil.
	Private func(session.View) Private
	// Serves reports whether a command of a session listens on a port of the session's own network,
	// and whether there is such a network. It may be nil.
	Serves func(ctx context.Context, v session.View, port uint16) (served, networked bool)
	// Readable lists folders outside of the roots that every session may read.
	Readable []string

	// Events holds the events of sessions, which answers deliver. It may be nil.
	Events *event.Registry

	// Approvals stores the user's earlier answers; if nil, none are remembered.
	// Pending reports whether the user can approve calls outside of the client,
	// by number.
	Approvals *approval.Store
	Pending   bool

	// Instance identifies this server in session ids of hooks and the audit
	// log, so that sessions of several servers differ. It may be empty.
	Instance string

	// Audit writes a call to the audit log after its end and before its answer.
	// If AuditRequired is set, a call that cannot be logged is refused. If
	// Audit is nil, nothing is logged.
	Audit         func(context.Context, audit.Entry) error
	AuditRequired bool
	AuditReady    func(context.Context) error // returns why a call cannot be logged now; may be nil

	Log *slog.Logger // log of the server, for calls that no client waits for; nil: they log nothing
}

// Pipeline runs calls. It is safe for concurrent use.
type Pipeline struct {
	Config
	rules    atomic.Pointer[Rules]
	bulletin atomic.Pointer[bulletin]
	posted   atomic.Uint64 // number of the bulletin that a call without a session has received

	room     room // budget for large inputs
	aside    asides
	unlogged atomic.Bool // an audit write has failed; loggable tries again
	noticed  atomic.Bool // a call without a session has received the notice
}

// New returns a pipeline for the configuration.
func New(c Config) *Pipeline {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	p := &Pipeline{Config: c, room: newRoom(budget)}
	p.bulletin.Store(new(bulletin))
	p.SetRules(c.Rules)
	return p
}

// Request is one call of a client.
type Request struct {
	Tool      string
	Found     *tools.Tool // the tool with that name, if the caller has looked it up after CurrentRules; else nil
	Arguments json.RawMessage
	Session   *session.Session
	Ticket    *concurrency.Ticket // the call's place in its lane, taken on arrival
	Log       *slog.Logger
	Progress  func(tools.Progress) // nil: progress is not reported
	ID        string               // the client's id of the call; "": one is generated
	Ask       Asker                // asks the client's user; nil: not possible
	AskWaits  bool                 // Ask waits for the answer and returns no *InputRequired
	// Unattended reports that no client waits for the answer: it takes no events, and a call
	// that the user would have to approve is refused without a number.
	Unattended bool
	// Unrun reports that the call is only decided, as any other is: the answer of an allowed one is
	// empty. The program of an agent asks so before it does something by itself.
	Unrun bool
	// ReadsOnly reports that the client may only make calls that change nothing.
	ReadsOnly bool
	// Uncontained reports that the one who makes an Unrun call runs outside of the sandbox.
	Uncontained bool
	// Elicit shows a form of an upstream server to the client's user. It fails
	// as Ask does. If nil, that is not possible.
	Elicit  func(context.Context, tools.Form) (tools.FormReply, error)
	Resumed any // InputRequired.State of the question that this request answers; nil: none
}
