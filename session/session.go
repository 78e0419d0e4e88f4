// Package session holds what one client conversation has established: its
// workspace roots, its working directory, what it has read, which tools it has
// loaded.
//
// Tools see a session only as a View, which they can read but not change. What
// a call wants to change it returns as an Effect, and whoever
// schedules calls applies effects in arrival order, so the same calls always
// leave the same session, whichever of them finished first.
package session

import (
	"slices"
	"sync"
	"time"
)

// maxReads bounds the read record of one session; beyond it the oldest record
// is forgotten. 4,096 files are far more than one conversation reads, and the
// record then stays under a megabyte.
const maxReads = 4096

// Config is what a session starts with.
type Config struct {
	ID        string   // unique within the server process
	Principal string   // whom the transport authenticated; "" for the local user
	Roots     []string // canonical workspace roots; the first is the initial working directory
	Results   string   // folder that holds this session's stored results, which it may read
	Stateless bool     // one request, no conversation: nothing is remembered
}

// Session is the state of one client conversation. It is safe for concurrent use.
type Session struct {
	mu     sync.Mutex
	view   View
	reads  map[string]Read
	order  []string // paths in reads, the latest read last
	loaded map[string]bool
}

// New starts a session whose working directory is its first root.
func New(c Config) *Session {
	v := View{
		ID: c.ID, Principal: c.Principal, Roots: slices.Clone(c.Roots),
		Results: c.Results, Stateless: c.Stateless,
	}
	if len(c.Roots) > 0 {
		v.Dir = c.Roots[0]
	}
	s := &Session{view: v, reads: map[string]Read{}, loaded: map[string]bool{}}
	s.view.of = s
	return s
}

// View is what a call may know of its session: its fields as they were when
// the call's turn came, its records as they are. Slices must not be modified.
type View struct {
	ID        string
	Principal string
	Dir       string   // working directory: absolute, canonical
	Roots     []string // workspace roots: absolute, canonical
	Results   string   // folder of stored results; may not exist yet
	Stateless bool     // nothing is remembered between calls

	of *Session
}

// Read records that a file was read: which part, and what the file was then.
type Read struct {
	Path    string // canonical
	Offset  int    // first line, 1-based
	Limit   int    // number of lines asked for; 0: no limit
	Size    int64  // bytes
	ModTime time.Time
}

// LastRead returns the latest read record of a canonical path.
func (v View) LastRead(path string) (Read, bool) {
	if v.of == nil {
		return Read{}, false
	}
	v.of.mu.Lock()
	defer v.of.mu.Unlock()
	r, ok := v.of.reads[path]
	return r, ok
}

// Loaded reports whether a deferred tool was loaded in this session.
func (v View) Loaded(tool string) bool {
	if v.of == nil {
		return false
	}
	v.of.mu.Lock()
	defer v.of.mu.Unlock()
	return v.of.loaded[tool]
}

// View returns the session as it is now.
func (s *Session) View() View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view
}

// Effect is what a call changes in its session. The zero value changes nothing.
type Effect struct {
	Dir    string   // new working directory; "" keeps it
	Reads  []Read   // files read
	Loaded []string // tools loaded
}

// IsZero reports whether applying e would change nothing.
func (e Effect) IsZero() bool { return e.Dir == "" && len(e.Reads) == 0 && len(e.Loaded) == 0 }

// Apply changes the session. A stateless session forgets everything at once,
// so for it Apply does nothing.
func (s *Session) Apply(e Effect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.view.Stateless || e.IsZero() {
		return
	}
	if e.Dir != "" {
		s.view.Dir = e.Dir
	}
	for _, r := range e.Reads {
		s.record(r)
	}
	for _, name := range e.Loaded {
		s.loaded[name] = true
	}
}

// record remembers the latest read of a file and forgets the oldest beyond maxReads.
func (s *Session) record(r Read) {
	if _, again := s.reads[r.Path]; again {
		s.order = slices.DeleteFunc(s.order, func(p string) bool { return p == r.Path })
	}
	s.reads[r.Path] = r
	s.order = append(s.order, r.Path)
	if len(s.order) > maxReads {
		delete(s.reads, s.order[0])
		s.order = s.order[1:]
	}
}
