package tools

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"time"

	"mcp-toolset/internal/consent/question"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/session"
	"mcp-toolset/web/site"
)

// Env holds what the server gives to one call. Services that do not differ between calls are
// given to the New of the tools that use them. The pipeline sets the fields; unless noted,
// they are not nil in a running call.
type Env struct {
	// For every tool.

	Session  session.View
	ID       string           // of the call, as in the audit log
	Home     string           // the user's home folder, "" if there is none
	Files    *workspace.Files // opens the files that the policy allows
	Results  Results          // stores texts that are too long for an answer
	Log      *slog.Logger     // writes to the server's log, and to a client that asked for it
	Progress func(Progress)   // reports progress to a client that asked for it
	Patient  bool             // the client asked for progress, by which most clients extend their timeout
	Waiting  func()           // releases the call's slot, for a call that only waits from now on

	// Denied reports whether the rules refuse to read a path, in any mode and without a question,
	// so that nothing about it may be revealed. It is nil where nothing is denied.
	Denied func(path string) bool
	// Notes holds what Prepare has to say about the input. The pipeline adds it to the answer.
	Notes []string

	// Approvable reports whether the user can be asked about a call.
	Approvable bool

	// Real returns the path of a file that a command of the session finds at path: commands have
	// the session's folder for temporary files in the place of /tmp. made reports that the call makes
	// the file. nil: commands have no such folder.
	Real func(path string, made bool) string
	// Place is Real for a file that a call changes, which is never in a layer over a cache.
	Place func(path string, made bool) string
	// Shown returns a text in which paths that Real returns have the names that they have for
	// commands. It may be nil.
	Shown func(text string) string

	// Depart releases the call's slot and its place, for a call that only waits from now on.
	// Later calls of the session no longer wait for it, and do not see its effect until its end.
	Depart func()

	// Call runs another tool as part of this call. The inner call is parsed, decided,
	// hooked and recorded separately, uses the place of this call in the schedule, and runs
	// alone. A concurrency-safe call may only make concurrency-safe calls.
	Call func(ctx context.Context, tool string, args json.RawMessage) (*Response, error)

	// For searches.

	// Secrets returns a function for the files in a folder. The function reports whether a
	// search must skip a file because it may hold credentials. It is nil if no file is to
	// be skipped. Paths are canonical.
	Secrets func(folder string) func(path string) bool

	// For tools that run commands.

	Commands CommandAccess

	// AskUser asks the client's user and waits for the reply, without a slot and a place. If
	// the user cannot answer now, it fails with a *fault.Fault that names the next step, or
	// with an error that the caller must return unchanged.
	AskUser func(context.Context, []question.Question) (question.Reply, error)

	// Later runs another tool after this call has ended, as a call of its own of the session.
	// Nobody can be asked about it, and its answer takes no events. It is nil in a nested call.
	Later func(ctx context.Context, tool string, args json.RawMessage) (*Response, error)

	// Asker is the pipeline.Asker with which calls of another session can ask the user of this
	// call, while it runs. nil: they cannot.
	Asker any

	// For tools that reach the web.

	// CheckAddr returns an error unless a connection to an address of the site may be made.
	// The error must be returned unchanged.
	CheckAddr func(site.Site, netip.Addr) error

	// For upstream tools.

	// Elicit shows a form of the upstream server to the client's user and waits for the
	// reply. If ctx ends first, it fails with the cause. Where the reply can only come with
	// another request, it fails with an error that the caller must return unchanged. nil:
	// the client cannot show forms.
	Elicit func(context.Context, Form) (FormReply, error)
}

// ErrGaveUp is the cause of the cancellation of a call whose client has stopped waiting at a timeout
// of its own. Work that can go on in the background goes on.
var ErrGaveUp = errors.New("the client has stopped waiting")

// Outlast returns a context that ends with ctx, unless the client only gave up waiting. The caller must
// call end once the work is done.
func Outlast(ctx context.Context) (outlasting context.Context, end func()) {
	outlasting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	follow := func() {
		if err := context.Cause(ctx); err != nil && !errors.Is(err, ErrGaveUp) {
			cancel(err)
		}
	}
	follow() // AfterFunc does it later
	stop := context.AfterFunc(ctx, follow)
	return outlasting, func() {
		stop()
		cancel(nil)
	}
}

// impatient is the time for which a call of a client without progress can be waited for. The MCP SDK
// for TypeScript ends a request after 60 s.
const impatient = 50 * time.Second

// Foreground returns the time after which a call of this client moves to the background, at most
// limit.
func (e *Env) Foreground(limit time.Duration) time.Duration {
	if e.Patient {
		return limit
	}
	return min(limit, impatient)
}

// Abs makes a path of a call absolute: "~" is the home folder, and a relative path is
// relative to the session's working directory. It does not access the file system.
func (e *Env) Abs(path string) string {
	path = workspace.Expand(path, e.Session.Dir, e.Home)
	if e.Real != nil {
		path = e.Real(path, false)
	}
	return path
}

// Name returns the name by which commands know a path that Abs returned.
func (e *Env) Name(path string) string {
	if e.Shown == nil {
		return path
	}
	return e.Shown(path)
}

// Progress reports the progress of a call.
type Progress struct {
	Done    float64 // in the tool's own unit, growing
	Total   float64 // 0: unknown
	Message string
	// Activity, in place of the other fields, replaces the activity text of the call, such as
	// "Searching for TODO in 4,213 files".
	Activity string
}
