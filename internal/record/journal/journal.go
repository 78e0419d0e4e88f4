// Package journal records the calls of sessions in memory, for the summary of a session.
// The audit log is the lasting record; it is not read back, and may be off.
package journal

import (
	"strings"
	"sync"
	"time"

	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// maxEntries is the limit of the entries of an owner. The oldest are dropped.
const maxEntries = 1000

// maxText is the limit of each text of an entry, in bytes. It is longer than most paths.
const maxText = 500

// Entry describes a finished call. Add sets ID.
type Entry struct {
	ID       int // 1, 2, 3, ... for each owner
	Time     time.Time
	Tool     string
	Title    string // one line for the user
	Path     string // file or folder that the call names; "" if none
	ReadOnly bool
	Outcome  string // one of the outcomes of package audit
	Reason   string // why the call was refused or failed; may be ""
	Agreed   bool   // the user was asked and has allowed the call
	Did      tools.Did
}

// Journal holds the entries of all owners. It is safe for concurrent use. A nil Journal
// drops all entries.
type Journal struct {
	mu   sync.Mutex
	logs session.Owned[log]
}

type log struct {
	entries []Entry
	last    int // ID of the last entry
}

// New returns an empty journal.
func New() *Journal { return &Journal{} }

// Add records a call of an owner.
func (j *Journal) Add(o session.Owner, e Entry) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, text := range []*string{&e.Title, &e.Reason, &e.Path, &e.Did.Answer} {
		*text = short(*text)
	}
	l := j.logs.Get(o)
	l.last++
	e.ID = l.last
	if len(l.entries) == maxEntries {
		l.entries = append(l.entries[:0], l.entries[1:]...)
	}
	l.entries = append(l.entries, e)
}

// short returns at most maxText bytes of a text, which may be a part of a whole input. A
// longer text ends with an ellipsis.
func short(text string) string {
	if len(text) <= maxText {
		return strings.Clone(text)
	}
	return strings.ToValidUTF8(text[:maxText-len("…")], "") + "…"
}

// Last returns the number of calls of an owner so far.
func (j *Journal) Last(o session.Owner) int {
	if j == nil {
		return 0
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if l := j.logs.Lookup(o); l != nil {
		return l.last
	}
	return 0
}

// Entries returns a copy of an owner's entries, oldest first.
func (j *Journal) Entries(o session.Owner) []Entry {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	l := j.logs.Lookup(o)
	if l == nil {
		return nil
	}
	return append([]Entry(nil), l.entries...)
}

// Forget drops the entries of an owner that has ended.
func (j *Journal) Forget(o session.Owner) {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.logs.Delete(o)
}
