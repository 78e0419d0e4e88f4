package session

import (
	"crypto/sha256"
	"slices"
	"time"

	"mcp-toolset/internal/workspace"
)

// Bounds of the read record of one session: beyond them the oldest is
// forgotten. That is far more than one conversation reads, and some five
// megabytes at the very most.
const (
	maxReads  = 4096 // files
	maxRanges = 8    // ranges of one file
)

// RepeatedFor is how long a model is taken to have what it read: longer, and
// its context may well have been cut.
const RepeatedFor = 10 * time.Minute

// Range is the part of a file that a call asked for.
type Range struct {
	Offset, Limit       int  // lines or cells, 1-based; a negative offset counts from the end; 0: not given
	FirstPage, LastPage int  // pages, 1-based; 0: not given
	Pictures            bool // pages as pictures
}

// Read records that a file was read: which part, and what the file was then.
type Read struct {
	Path  string // canonical
	Range Range
	File  workspace.Identity
	Hash  [sha256.Size]byte // SHA-256 of the whole file's bytes; zero: not known
	Large bool              // the file is too large for a hash; File tells its states apart
	At    time.Time

	// First to Last are the lines, or cells, that the answer had, of Total; a
	// Last of 0 is all of the file, any other below First nothing. A Total of 0 or
	// less is not known.
	First, Last, Total int

	Shown bool // the answer had the content; not for a file that the model wrote
	Told  bool // it was repeated since, so that an answer may have been only that nothing has changed; the session sees to it
	Wrote bool // the call wrote the file, and this is what it wrote
	Moved bool // since the model saw it, cells have other places than then
}

// RepeatedBy reports whether a later read asks for what this one has shown, of
// the same state of the file and not long behind it. An equal identity does not
// say that the content is what it was: files of /proc have no size and no times
// that tell, and two writes may fall into one tick of a clock. So the content
// is compared, unless it is too much; then the file must not have been written
// shortly before it was read.
func (r Read) RepeatedBy(later Read) bool {
	if !r.Shown || !later.Shown || r.Range != later.Range || r.File != later.File || later.At.Sub(r.At) > RepeatedFor {
		return false
	}
	if r.Large {
		return later.Large && !r.File.Fresh(r.At)
	}
	return r.Hash != [sha256.Size]byte{} && r.Hash == later.Hash
}

// Seen returns what the session has seen of a canonical path.
func (v View) Seen(path string) (Seen, bool) {
	if v.of == nil {
		return Seen{}, false
	}
	v.of.mu.Lock()
	defer v.of.mu.Unlock()
	s, ok := v.of.reads.seen[path]
	return s, ok
}

// LastRead returns the latest record of a canonical path.
func (v View) LastRead(path string) (Read, bool) {
	return v.read(path, func(Read) bool { return true })
}

// ReadOf returns the latest record of a range of a canonical path.
func (v View) ReadOf(path string, r Range) (Read, bool) {
	return v.read(path, func(had Read) bool { return had.Range == r })
}

func (v View) read(path string, fits func(Read) bool) (Read, bool) {
	if v.of == nil {
		return Read{}, false
	}
	v.of.mu.Lock()
	defer v.of.mu.Unlock()
	for _, r := range slices.Backward(v.of.reads.of[path]) {
		if fits(r) {
			return r, true
		}
	}
	return Read{}, false
}

// OnRead calls f after every record of a successful read, in order, once the
// session has it; stop ends that. f is called while the scheduler waits: it
// must neither wait nor panic.
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

// reads are the records of a session.
type reads struct {
	of    map[string][]Read // by path, the latest last
	seen  map[string]Seen   // by path
	order []string          // paths, the latest read last
}

func newReads() reads { return reads{of: map[string][]Read{}, seen: map[string]Seen{}} }

// add remembers a read, in place of what was known of the same range and of
// other states of the file, and returns what is known now.
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

// repeat makes of a read that repeats another what it leaves. How it was
// answered does not count: reads that run together are all answered in full,
// and leave what they would have left one by one. The first repeat, for which a
// short answer is enough, renews nothing; behind it the content was shown again.
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

// see remembers what was seen of a file.
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
