package tools

import (
	"context"
	"encoding/json"
	"log/slog"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/session"
)

// Env holds the environment of a running call. The pipeline sets its fields; unless noted,
// they are not nil in a running call.
type Env struct {
	Session session.View
	Files   *workspace.Files // opens the files that the policy allows
	Home    string           // the user's home folder, "" if there is none
	// Secrets returns a function for the files in a folder. The function reports whether a
	// search must skip a file because it may hold credentials. It is nil if no file is to
	// be skipped. Paths are canonical.
	Secrets func(folder string) func(path string) bool

	Log      *slog.Logger   // writes to the server's log, and to a client that asked for it
	Progress func(Progress) // reports progress to a client that asked for it

	// Results stores texts that are too long for an answer.
	Results Results

	// Waiting releases the call's slot. It is for a call that only waits from now on.
	Waiting func()

	// Commands holds what a tool that runs commands needs to confine them.
	Commands CommandAccess

	// Elicit shows a form of an upstream server to the client's user and waits for the
	// reply. If ctx ends first, it fails with the cause. Where the reply can only come with
	// another request, it fails with an error that the caller must return unchanged. nil:
	// the client cannot show forms.
	Elicit func(context.Context, Form) (FormReply, error)

	// Call runs another tool as part of this call. The inner call is parsed, decided,
	// hooked and recorded separately, uses the place of this call in the schedule, and runs
	// alone. A concurrency-safe call may only make concurrency-safe calls.
	Call func(ctx context.Context, tool string, args json.RawMessage) (*Response, error)
}

// Abs makes a path of a call absolute: "~" is the home folder, and a relative path is
// relative to the session's working directory. It does not access the file system.
func (e *Env) Abs(path string) string { return workspace.Expand(path, e.Session.Dir, e.Home) }

// Form is a question of an upstream server to the client's user.
type Form struct {
	Server  string
	Tool    string // tool whose call asks; set by the pipeline
	Message string
	Schema  json.RawMessage // schema of the reply, as the server sent it
}

// FormReply is the user's reply to a Form. Action is accept, decline or cancel.
type FormReply struct {
	Action  string
	Content json.RawMessage // only with accept; nil: none
}

// Progress reports the progress of a call.
type Progress struct {
	Done    float64 // in the tool's own unit, growing
	Total   float64 // 0: unknown
	Message string
}
