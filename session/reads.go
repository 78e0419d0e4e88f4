package session

import (
	"crypto/sha256"
	"slices"
	"time"

	"mcp-toolset/internal/file/workspace"
)

// Limits of the read records of one session. Beyond them the oldest records are
// dropped. They allow far more than one conversation reads, and need about five
// megabytes at most.
const (
	maxReads  = 4096 // files
	maxRanges = 8    // ranges of one file
)

// RepeatedFor is the time for which a model is assumed to have a text in its
// context. After a longer time the context may have been truncated.
const RepeatedFor = 10 * time.Minute

// Range is the part of a file that a call requested.
type Range struct {
	Offset, Limit       int  // lines or cells, 1-based; a negative offset counts from the end; 0: not given
	FirstPage, LastPage int  // pages, 1-based; 0: not given
	Pictures            bool // whether pages were requested as pictures
	Formulas            bool // whether cells were requested as formulas
}

// Read is the record of one read: the part that was read and the state of the
// file at that time.
type Read struct {
	Path  string // canonical
	Range Range
	File  workspace.Identity
	Hash  [sha256.Size]byte // SHA-256 of the whole file; zero: unknown
	Large bool              // the file is too large to hash; only File identifies its state
	At    time.Time

	// First and Last are the first and last line or cell in the answer, out of
	// Total. If Last is 0, the answer had the whole file; any other Last below
	// First means nothing. If Total is 0 or less, it is unknown.
	First, Last, Total int

	Shown bool // the answer had the content; false for a file that the model wrote
	Told  bool // the read was repeated, so a later answer may have been only "unchanged"; set by the session
	Wrote bool // the call wrote the file with this content
	Moved bool // cells have changed places since the model saw the file
}

// RepeatedBy reports whether later requests what r has shown, of the same state
// of the file and within RepeatedFor. An equal identity does not prove equal
// content: files in /proc have no useful size or times, and two writes may fall
// into one tick of the clock. So RepeatedBy compares the hashes. For a file too
// large to hash, it requires instead that the file was not written shortly
// before r.
func (r Read) RepeatedBy(later Read) bool {
	if !r.Shown || !later.Shown || r.Range != later.Range || r.File != later.File || later.At.Sub(r.At) > RepeatedFor {
		return false
	}
	if r.Large {
		return later.Large && !r.File.Fresh(r.At)
	}
	return r.Hash != [sha256.Size]byte{} && r.Hash == later.Hash
}

// Seen returns what the session has seen of the file with this canonical path.
func (v View) Seen(path string) (Seen, bool) {
	of := v.reader()
	if of == nil {
		return Seen{}, false
	}
	of.mu.Lock()
	defer of.mu.Unlock()
	s, ok := of.reads.seen[path]
	return s, ok
}

// reader returns the session that has the records of reads, or nil.
func (v View) reader() *Session {
	if v.of != nil && v.Forgets() {
		return v.of.shared
	}
	return v.of
}

// LastRead returns the latest record of the file with this canonical path.
func (v View) LastRead(path string) (Read, bool) {
	return v.read(path, func(Read) bool { return true })
}

// ReadOf returns the latest record of this range of the file. Of a session that forgets there is
// none: another model may have made it.
func (v View) ReadOf(path string, r Range) (Read, bool) {
	if v.Forgets() {
		return Read{}, false
	}
	return v.read(path, func(had Read) bool { return had.Range == r })
}

func (v View) read(path string, fits func(Read) bool) (Read, bool) {
	of := v.reader()
	if of == nil {
		return Read{}, false
	}
	of.mu.Lock()
	defer of.mu.Unlock()
	for _, r := range slices.Backward(of.reads.of[path]) {
		if fits(r) {
			return r, true
		}
	}
	return Read{}, false
}

// OnRead registers f to be called after each record of a successful read, in
// order, once the session has stored the record. stop removes f. The scheduler
// waits for f, so f must neither block nor panic.
func (s *Session) OnRead(f func(Read)) (stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	listener := &f
	s.listeners = append(s.listeners, listener)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.listeners = slices.DeleteFunc(s.listeners, func(l *func(Read)) bool { return l == listener })
	}
}

// reads holds the read records of a session.
type reads struct {
	of    map[string][]Read // by path, the latest last
	seen  map[string]Seen   // by path
	order []string          // paths, the latest read last
}

func newReads() reads { return reads{of: map[string][]Read{}, seen: map[string]Seen{}} }

// add stores a read and returns it as stored. It replaces records of the same
// range and of other states of the file.
func (m *reads) add(r Read) Read {
	m.see(r)
	r = m.repeat(r)
	had := slices.DeleteFunc(m.of[r.Path], func(o Read) bool { return o.Range == r.Range || o.File != r.File })
	if len(had) == maxRanges {
		had = slices.Delete(had, 0, 1)
	}
	m.of[r.Path] = append(had, r)
	return r
}

// repeat returns the record for a read that may repeat an earlier one. It does
// not depend on how the read was answered: reads that run together are all
// answered in full, but must leave the same records as one after the other. A
// short answer is enough for the first repeat, so it does not renew the time.
// After it, the content was shown again.
func (m *reads) repeat(r Read) Read {
	for _, had := range m.of[r.Path] {
		if had.RepeatedBy(r) {
			if !had.Told {
				r.At = had.At
			}
			r.Told = true
		}
	}
	return r
}

// see updates what the session has seen of the file.
func (m *reads) see(r Read) {
	had, again := m.seen[r.Path]
	if again {
		m.order = slices.DeleteFunc(m.order, func(p string) bool { return p == r.Path })
	}
	m.seen[r.Path] = had.with(r)
	m.order = append(m.order, r.Path)
	if len(m.order) > maxReads {
		delete(m.of, m.order[0])
		delete(m.seen, m.order[0])
		m.order = m.order[1:]
	}
}
