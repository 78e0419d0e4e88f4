// Package approval lets the user decide outside of the client on calls that the
// rules ask about. A call is refused with a number. The user approves or denies
// that number with another process of this program. The same call, sent again,
// then runs once. In the same way the user answers questions of a tool.
//
// A server holds its pending and granted approvals, and what each session was
// declined, in memory. Only what is always allowed is on disk, for all servers
// of the user. The other process connects through the socket of the server
// (package socket), which is opened with the first pending approval at the latest.
//
// A command that a tool runs must not be able to approve itself. The state
// folder is closed to tools and commands. As a second defense, package socket
// rejects a peer that descends from a server's process.
//
// An approval is bound to the principal, tool, folder, first root, the bytes of the whole
// input, the subject and the reason, but not to the conversation (Request.key). A call
// that differs in any of them is another call. "Always", in a workspace, and a decline,
// in a conversation, are about the Subject: the exact command in its folder, the path for
// all tools that do the same to it, the host and port, or the whole input; never a pattern.
// An agreement on a call to a host holds for the conversation.
package approval

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"mcp-toolset/internal/consent/question"
	"mcp-toolset/internal/consent/socket"
	"mcp-toolset/internal/file/filelock"
)

// GrantedFor is the time in which the model must send an approved call again.
// It is short because the user no longer watches.
const GrantedFor = 15 * time.Minute

const (
	// pendingFor is the time until a pending approval expires. The user can
	// answer the next morning.
	pendingFor = 24 * time.Hour
	// maxPending is the limit of pending approvals: more than a user reads, but
	// a model may flood the server with calls.
	maxPending = 1000
	// maxInput is the size limit of one call, in bytes. A user could not judge
	// a larger one.
	maxInput = 2 << 20
	// maxHeld is the limit of all requests held, in bytes. A list of them is
	// sent as a whole.
	maxHeld = 16 << 20
	// maxDeclined and maxOutcomes limit the stored decisions. The oldest are
	// dropped; what was declined is then asked about again.
	maxDeclined = 1000
	maxOutcomes = 1000
)

// Errors for calls that the user cannot approve, or cannot always allow.
var (
	errNoRoot    = errors.New("the call is in no workspace, so it cannot be always allowed; approve it without --always")
	errNoSubject = errors.New("nothing of the call can be always allowed; approve it without --always")
)

// errOnce returns the error for a call that is asked about each time.
func errOnce(why string) error {
	return fmt.Errorf("%s, so it cannot be always allowed; approve it without --always", why)
}

// Subject is the part of a call that an "always" allows and a decline covers.
// Value is exact text and never a pattern.
type Subject struct {
	Kind   string `json:"kind"`             // "command", "path", "site" or "input"
	Access string `json:"access,omitempty"` // for a path: "Read" or "Edit"
	Value  string `json:"value"`
	Dir    string `json:"dir,omitempty"` // for a command: the folder in which it runs
	// Opens describes, readably for users, what the command may use beyond the
	// workspace. A different description is a different subject.
	Opens string `json:"opens,omitempty"`
}

// of returns the scope of decisions on the subject. For a path this is the
// access, so that they apply to all tools with the same access. Otherwise it is
// the tool.
func (s Subject) of(tool string) string {
	if s.Kind == "path" && s.Access != "" {
		return s.Access
	}
	return tool
}

// Request is a call that the user must decide on, as it would run. Nothing may
// change it between the question and the run. The approval is bound to all
// fields except Session, Client, Answered and Preview, with Partial: a call that differs in any
// other field is another call.
type Request struct {
	Session   string          // "" for none; nothing is then remembered
	Principal string          // authenticated by the transport; "" for the local user
	Client    string          // name of the client, as it calls itself; "": unknown
	Tool      string          // its name
	As        string          // another tool for which a decline also holds; "": none
	Title     string          // what the call does, for users
	Dir       string          // folder in which it would run; "" if that does not matter
	Root      string          // first workspace root, in which "always" applies
	Input     json.RawMessage // complete, after all changes by hooks
	Reason    string          // why the user is asked; the same for the same call
	Subject   Subject
	Once      string // why the call is asked about each time, as a clause, so that "always" is not offered; "" if it is

	// Preview shows the user what the call would change, as lines that are safe
	// to show. Partial reports that Preview is incomplete.
	Preview string
	Partial bool

	// Questions, if there are any, take the place of the question for approval. They are part
	// of Input, and bound to Session. Replied is called once with the number and the reply, if
	// one is given; it must neither block nor use the Store.
	Questions []question.Question
	Replied   func(number int, reply question.Reply) `json:"-"`
	// Answered is called with each answer of the user to the pending call, and when a decline is
	// lifted. reason is the user's text for the model, or "". It must neither block nor use the
	// Store. It may be nil.
	Answered func(number int, a Answer, reason string) `json:"-"`
}

// Answer is an answer of the user to a pending call.
type Answer int

// The answers.
const (
	Approved Answer = iota
	Always
	Denied
	Lifted
)

// check returns an error if the request cannot be shown to the user.
func (r *Request) check() error {
	switch {
	case r.size() > maxInput:
		return fmt.Errorf("the call has %d bytes, and more than %d cannot be shown to the user", r.size(), maxInput)
	case !json.Valid(r.Input) || !utf8.Valid(r.Input): // different invalid bytes would look the same
		return errors.New("the input of the call is not JSON")
	}
	return nil
}

// always returns the reason why "always" is not offered, or nil if it is.
func (r *Request) always() error {
	switch {
	case r.Once != "":
		return errOnce(r.Once)
	case r.Subject.Value == "" || r.Subject.Kind == "" || !utf8.ValidString(r.Subject.Value+r.Root):
		return errNoSubject // invalid UTF-8 would change in the file
	case r.Root == "":
		return errNoRoot
	}
	return nil
}

// key identifies the request that an approval is bound to.
type key [sha256.Size]byte

// key returns the digest of the exact bytes of the request. Two spellings of
// the same JSON value are two calls.
func (r *Request) key() key {
	once := "each"
	if r.Once != "" {
		once = "once"
	}
	session := ""
	if r.Questions != nil {
		once, session = "answer", r.Session
	}
	var b []byte
	for _, field := range []string{
		r.Principal, r.Tool, r.Title, r.Dir, r.Root, string(r.Input), r.Reason,
		r.Subject.Kind, r.Subject.Access, r.Subject.Value, r.Subject.Dir, r.Subject.Opens, once, session,
	} {
		b = binary.AppendUvarint(b, uint64(len(field)))
		b = append(b, field...)
	}
	return sha256.Sum256(b)
}

// size returns the size of a request in bytes.
func (r *Request) size() int {
	input := len(r.Input)
	if r.Questions != nil {
		input *= 2
	}
	return input + len(r.Title) + len(r.Reason) + len(r.Subject.Value) + len(r.Preview)
}

// Config holds the settings of a Store. All fields are required.
type Config struct {
	Folder string // state folder, as a canonical path; it need not exist
	Server string // name of the server for users: its roots
	Now    func() time.Time
	Log    *slog.Logger
}

// Store holds the approvals of one server. It is safe for concurrent use.
type Store struct {
	config Config
	folder string // folder of approvals, in the state folder
	locks  *filelock.Locks
	always alwaysFile
	last   atomic.Int64 // last number drawn

	socket *socket.Server

	generation   atomic.Uint64 // changes with each change of items
	mu           sync.Mutex
	items        []*item // in order of arrival
	declined     []*declined
	agreed       []agreed
	outcomes     map[int]string // outcome of each number without an item
	outcomeOrder []int          // the keys of outcomes, oldest first
}

// New returns a Store. It accesses no file.
func New(c Config) *Store {
	folder := folderOf(c.Folder)
	s := &Store{
		config: c, socket: socket.New(c.Folder, c.Log), folder: folder, locks: locksOf(folder), outcomes: map[int]string{},
		always: alwaysFile{path: filepath.Join(folder, alwaysName)},
	}
	s.socket.Handle("", s.converse)
	return s
}

// Socket returns the socket of the server. Other handlers must be added before the first approval.
func (s *Store) Socket() *socket.Server { return s.socket }

// Close drops all pending approvals and closes the socket. What is always
// allowed is unchanged.
func (s *Store) Close() error { return s.socket.Close() }

// folderOf returns the folder of approvals in a state folder.
func folderOf(state string) string { return socket.Folder(state) }

// locksOf returns locks that are separate from those of files that tools
// change, because a call may hold one of those.
func locksOf(folder string) *filelock.Locks { return filelock.New(filepath.Join(folder, "locks")) }

// clone returns a copy that shares no data with its caller.
func (r *Request) clone() Request {
	c := *r
	c.Input = bytes.Clone(r.Input)
	return c
}
