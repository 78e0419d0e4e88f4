// Package approval is a person's word on calls that the rules ask about, given
// outside of the client: a call is refused with a number, the person approves
// or denies that number with another process of this program, and the same call,
// sent again, then runs once.
//
// What a server holds is in its memory: what is pending, what was granted, what
// each conversation was declined. Only what is always allowed is on disk, for
// all servers of the user. The other process comes by a unix socket in the
// state folder, which is made with the first pending approval and not before.
//
// A command that a tool runs must not be able to approve itself. The state
// folder is closed to tools and commands; where that does not hold, a peer
// below a server's process is refused (peer_linux.go), which a command that has
// something outside of its own tree work for it gets around.
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

	"mcp-toolset/internal/filelock"
)

// GrantedFor is how long the model may take to send a call again that a person
// has approved. It is short because nobody watches any more.
const GrantedFor = 15 * time.Minute

const (
	// pendingFor lets a person answer the next morning.
	pendingFor = 24 * time.Hour
	// maxPending is more than a person reads; what a model that floods takes.
	maxPending = 1000
	// maxInput is the longest input of one call, in bytes: nobody judges more.
	maxInput = 2 << 20
	// maxHeld is for all that is held, in bytes: a list of it is sent whole.
	maxHeld = 16 << 20
	// maxDeclined and maxFates bound what is remembered of decisions. The oldest
	// go: what was declined is then asked about again.
	maxDeclined = 1000
	maxFates    = 1000
)

// Errors of what cannot be put to a person.
var (
	errClosed = errors.New("the server is stopping")
	errOnce   = errors.New("a rule asks each time, so that this cannot be allowed for always; approve it without --always")
	errNoRoot = errors.New("the call is in no workspace, so that this cannot be allowed for always; approve it without --always")
	errNoWhat = errors.New("nothing of the call can be allowed for always; approve it without --always")
)

// Subject is what a call is about: what "always" allows and what a decline
// covers. Value is exact text and never a pattern.
type Subject struct {
	Kind   string `json:"kind"`             // "command", "path" or "input"
	Access string `json:"access,omitempty"` // of a path: "Read" or "Edit"
	Value  string `json:"value"`
	Dir    string `json:"dir,omitempty"` // of a command: the folder in which it runs
	// Opens is what the command may use beyond the workspace, as people read it:
	// with anything else it is another subject.
	Opens string `json:"opens,omitempty"`
}

// of is whose calls what is said of the subject is about: of a path those of all
// tools that do the same to it, by the name of that, otherwise of the tool.
func (s Subject) of(tool string) string {
	if s.Kind == "path" && s.Access != "" {
		return s.Access
	}
	return tool
}

// Request is a call that a person is to decide on, as it would run: nothing may
// change it between the question and the run. All of it but Session and Preview is
// bound: a call that differs in any of it is another call.
type Request struct {
	Session   string          // the conversation; "" is none, of which nothing is remembered
	Principal string          // whom the transport authenticated; "" for the local user
	Tool      string          // its name
	Title     string          // what the call does, for people
	Dir       string          // folder in which it would run; "" if that does not matter
	Root      string          // first workspace root, in which "always" holds
	Input     json.RawMessage // whole, after all that changes it
	Reason    string          // why a person is asked; the same for the same call
	Subject   Subject
	Once      bool // a rule asks each time: "always" is not on offer

	// Preview shows people what the call would change, as lines that are safe to
	// show. Partial says that it leaves something out.
	Preview string
	Partial bool
}

// check says what cannot be put to a person.
func (r *Request) check() error {
	switch {
	case r.size() > maxInput:
		return fmt.Errorf("the call has %d bytes, and more than %d cannot be shown to the user", r.size(), maxInput)
	case !json.Valid(r.Input) || !utf8.Valid(r.Input): // bytes that are no text look alike
		return errors.New("the input of the call is not JSON")
	}
	return nil
}

// always says why "always" is not on offer; nil if it is.
func (r *Request) always() error {
	switch {
	case r.Once:
		return errOnce
	case r.Subject.Value == "" || r.Subject.Kind == "" || !utf8.ValidString(r.Subject.Value+r.Root):
		return errNoWhat // what is no text would be another one in the file
	case r.Root == "":
		return errNoRoot
	}
	return nil
}

// key is what an approval is bound to.
type key [sha256.Size]byte

// key digests the bytes of the request as they are: two spellings of a JSON
// value are two calls.
func (r *Request) key() key {
	once := "each"
	if r.Once {
		once = "once"
	}
	var b []byte
	for _, field := range []string{
		r.Principal, r.Tool, r.Title, r.Dir, r.Root, string(r.Input), r.Reason,
		r.Subject.Kind, r.Subject.Access, r.Subject.Value, r.Subject.Dir, r.Subject.Opens, once,
	} {
		b = binary.AppendUvarint(b, uint64(len(field)))
		b = append(b, field...)
	}
	return sha256.Sum256(b)
}

// size is what a request takes, in bytes.
func (r *Request) size() int {
	return len(r.Input) + len(r.Title) + len(r.Reason) + len(r.Subject.Value) + len(r.Preview)
}

// Config is what a Store is made of. All of it is required.
type Config struct {
	Folder string // state folder, absolute, links resolved; it need not exist
	Server string // what people know the server by: its roots
	Now    func() time.Time
	Log    *slog.Logger
}

// Store is the approvals of one server. It is safe for concurrent use.
type Store struct {
	config Config
	folder string // of approvals, in the state folder
	locks  *filelock.Locks
	always alwaysFile
	last   atomic.Int64 // number drawn

	opening sync.Mutex // held while the socket is opened or closed
	door    *door      // nil before the first pending approval
	closed  bool

	mu       sync.Mutex
	items    []*item // as they came
	declined []*declined
	fates    map[int]string // what became of a number that is no item any more
	faded    []int          // those numbers, as they ended
}

// New makes a store. It touches no file.
func New(c Config) *Store {
	folder := folderOf(c.Folder)
	return &Store{
		config: c, folder: folder, locks: locksOf(folder), fates: map[int]string{},
		always: alwaysFile{path: filepath.Join(folder, alwaysName)},
	}
}

// folderOf is the folder of approvals in a state folder.
func folderOf(state string) string { return filepath.Join(state, "approvals") }

// locksOf are locks apart from those of files that tools change, since a call
// may hold one of those.
func locksOf(folder string) *filelock.Locks { return filelock.New(filepath.Join(folder, "locks")) }

// clone keeps a request from whoever made it.
func (r *Request) clone() Request {
	c := *r
	c.Input = bytes.Clone(r.Input)
	return c
}
