package tools

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/snapshot"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/policy"
	"mcp-toolset/session"
)

// Env is what a call may know and use. Its fields are set by the pipeline and
// never nil in a running call.
type Env struct {
	Session session.View
	Files   *workspace.Files // opens what the policy allows
	Home    string           // the user's home folder, "" if there is none
	// ReadDenied says that rules keep some file in the roots from being read. Kept
	// lists what there is that commands have to be kept from, as far as that can
	// be told.
	ReadDenied bool
	ReadRule   string // one of these rules, if it may cover a file in the roots; else ""
	Kept       func(context.Context) (Kept, error)

	// Secrets returns what reports whether a file in a folder is to be left out of
	// a search because it may hold credentials; nil if none is. Paths are canonical.
	Secrets func(folder string) func(path string) bool

	// Hooked reports whether hooks run after the call, for which a tool makes
	// Result.HookFields.
	Hooked bool

	Log      *slog.Logger   // to the server's log, and to a client that asked for it
	Progress func(Progress) // tells a client that asked for it how far the call is
	Now      func() time.Time

	// SaveParts keeps a long text in pieces that Read can show: next gives them
	// until io.EOF, the answer is their folder and how many files are in it.
	// What a call of this session saved under a name is not saved again; what
	// has another name that begins with family and a hyphen makes room for it.
	SaveParts func(family, name string, next func() (string, error)) (folder string, count int, err error)

	// Long begins a text that may be too long for an answer: it is stored while it
	// is written, so that it need not be in memory. At most one is written by a call.
	Long func() Long

	// Private says that the result is for this session alone, so that no other has
	// it though it made an identical call at the same time.
	Private func()

	// Waiting gives back the call's place among those that run at once, for one
	// that only waits from now on.
	Waiting func()

	// Outside says that the call leaves something behind that may change files
	// until done is called, once.
	Outside func() (done func())

	// Snapshots are contents of files as they were read or written.
	Snapshots *snapshot.Cache

	// Lock waits until this call alone, among all servers of this user, may
	// change the file with a canonical path, until release.
	Lock func(ctx context.Context, canonical string) (release func(), err error)

	// Catalogue is what tools there are at the moment.
	Catalogue func() *Catalogue

	// Wake has upstream servers connected that are not, in the background, and
	// waits for those that are being connected, at most until the time is over.
	Wake func(ctx context.Context, most time.Duration)

	// Elicit puts a form of an upstream server to the client's user and waits. It
	// fails with the cause when ctx ends first, and where the answer can only come
	// with another request with an error that has to be returned as it is. nil:
	// the client cannot be asked.
	Elicit func(context.Context, Form) (FormReply, error)

	// Call runs another tool as part of this call: parsed, decided, hooked and
	// recorded as its own, inside this call's place in the schedule, one at a
	// time. A concurrency-safe call may only make concurrency-safe calls.
	Call func(ctx context.Context, tool string, args json.RawMessage) (*Response, error)
}

// Long is a text that is written piece by piece, each of whole characters. It is
// for one goroutine.
type Long interface {
	io.Writer // never fails
	// Mark returns a function that takes back all that is written from now on.
	Mark() (undo func())
	// Text ends the text and returns it as the model gets it: whole, or its ends
	// and where the whole is stored.
	Text() string
	// Discard ends the text for nothing. After Text it does nothing.
	Discard()
}

// Kept are files, and folders for all below them.
type Kept struct {
	Hidden    []string // may not be read; need not exist
	Unchanged []string // may be read
	Names     []string // protected names that may not be made
	Grants    []Grant  // may be used although they are not the workspace's
}

// Grant is access to a file, or to a folder and all below it, that a command gets
// beyond the workspace because somebody agreed to it.
type Grant struct {
	Path   string // canonical
	Access policy.Access
	Create bool // the file does not exist and has to be made, empty, before the command starts
	List   bool // only names may be listed, at any depth
	Guess  bool // the call may not change it at all: it was only given the path
}

// String returns the grant as people and models read it.
func (g Grant) String() string {
	if g.List {
		return "listing the names below " + plain.Line(g.Path)
	}
	if g.Access == policy.Edit {
		return "changing " + plain.Line(g.Path)
	}
	return "reading " + plain.Line(g.Path)
}

// Abs makes a path of a call absolute: "~" is the home folder, a relative path
// is relative to the session's working directory. It is lexical.
func (e *Env) Abs(path string) string { return workspace.Expand(path, e.Session.Dir, e.Home) }

// Form is what an upstream server asks the client's user.
type Form struct {
	Server  string
	Tool    string // in a call of which tool; the pipeline says it
	Message string
	Schema  json.RawMessage // of the answer, as the server sent it
}

// FormReply is the answer: its action is accept, decline or cancel.
type FormReply struct {
	Action  string
	Content json.RawMessage // only with accept; nil: none
}

// Progress is how far a call is.
type Progress struct {
	Done    float64 // in the tool's own unit, growing
	Total   float64 // 0: unknown
	Message string
}
