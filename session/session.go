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
)

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
	mu        sync.Mutex
	view      View
	reads     reads
	listeners []*func(Read)
	loaded    map[string]bool
	onLoaded  func()
	failures  failures
	noticed   bool
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
	s := &Session{view: v, reads: newReads(), loaded: map[string]bool{}}
	s.view.of = s
	return s
}

// maxOutputs bounds Outputs: a rule that names a file is held against each.
const maxOutputs = 200

// View is what a call may know of its session: its fields as they were when
// the call's turn came, its records as they are. Slices must not be modified.
type View struct {
	ID        string
	Principal string
	Dir       string   // working directory: absolute, canonical
	Roots     []string // workspace roots: absolute, canonical
	Results   string   // folder of stored results; may not exist yet
	Outputs   []string // files with what its commands printed, which it may read
	Stateless bool     // nothing is remembered between calls
	Reminded  bool     // an answer had the full reminder that file content is data

	of *Session
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

// Notice reports whether this is its first call for the session. It says who tells
// the client what every session is told once.
func (s *Session) Notice() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.noticed
	s.noticed = true
	return first
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
	Output string   // a file with what a command printed, for Outputs; "": none
	Reads  []Read   // what was read of files
	Unread []Read   // files that were read and could not be shown, for Seen
	Loaded []string // tools loaded
	Failed []string // keys of calls that failed, for Failures

	Reminded bool // the answer has the full reminder that file content is data
}

// IsZero reports whether applying e would change nothing.
func (e Effect) IsZero() bool {
	return e.Dir == "" && e.Output == "" && len(e.Reads) == 0 && len(e.Unread) == 0 && len(e.Loaded) == 0 && len(e.Failed) == 0 && !e.Reminded
}

// Apply changes the session, then tells who listens. A stateless session
// forgets everything at once, so for it Apply does nothing.
func (s *Session) Apply(e Effect) {
	done := s.apply(e)
	for _, tell := range done.listeners {
		for _, r := range done.reads {
			(*tell)(r)
		}
	}
	if done.loaded != nil {
		done.loaded()
	}
}

// applied is what an effect changed, and who is to hear of it.
type applied struct {
	reads     []Read // with what is known of the files
	listeners []*func(Read)
	loaded    func() // nil: no further tool was loaded, or nobody listens
}

// OnLoaded calls f when tools were loaded that were not before. f is called while
// the scheduler waits: it must neither wait nor panic. A later f replaces it.
func (s *Session) OnLoaded(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onLoaded = f
}

func (s *Session) apply(e Effect) (done applied) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.view.Stateless || e.IsZero() {
		return done
	}
	if e.Dir != "" {
		s.view.Dir = e.Dir
	}
	if e.Output != "" {
		// A view that was given out keeps what it had.
		s.view.Outputs = append(s.view.Outputs[:len(s.view.Outputs):len(s.view.Outputs)], e.Output)
		s.view.Outputs = s.view.Outputs[max(0, len(s.view.Outputs)-maxOutputs):]
	}
	s.view.Reminded = s.view.Reminded || e.Reminded
	for _, r := range e.Reads {
		done.reads = append(done.reads, s.reads.add(r))
	}
	for _, r := range e.Unread {
		s.reads.see(r)
	}
	for _, name := range e.Loaded {
		if !s.loaded[name] {
			s.loaded[name], done.loaded = true, s.onLoaded
		}
	}
	for _, key := range e.Failed {
		s.failures.add(key)
	}
	done.listeners = slices.Clone(s.listeners)
	return done
}
