// Package session holds the state of one client between calls: its workspace
// roots, its working directory, its read records and its loaded tools.
//
// Tools see a session only as a View, which they can read but not change. A
// call returns its changes as an Effect. The scheduler applies effects in order
// of arrival. So the same calls always lead to the same session, whichever of
// them ends first.
package session

import (
	"slices"
	"sync"
)

// Config holds the initial values of a session.
type Config struct {
	ID        string   // unique within the server process
	Principal string   // the user that the transport authenticated; "" for the local user
	User      string   // name of the principal, for the audit log; "": as Principal says
	Roots     []string // canonical workspace roots; the first is the initial working directory
	Results   string   // folder of this session's stored results, which it may read
	Stateless bool     // for requests that name no session; see View.Forgets
	// Reads is the session whose records of reads are those of a session that forgets; nil: none.
	Reads   *Session
	Profile *Profile // nil: all tools
	Agent   string   // name of the agent of the server whose session it is; "": the session is a client's
	Parent  string   // id of the call that started the agent
	Above   Owner    // of an agent's session: the client's session above it
}

// Session is the state of one client between calls. It is safe for concurrent
// use.
type Session struct {
	mu        sync.Mutex
	view      View
	shared    *Session // Config.Reads
	reads     reads
	listeners []*func(Read)
	loaded    map[string]bool
	onLoaded  func()
	onMove    func(roots []string)
	failures  failures
	noticed   bool
	unseen    bool
	posted    uint64
	questions questions
}

// New returns a session whose working directory is its first root.
func New(c Config) *Session {
	v := View{
		ID: c.ID, Principal: c.Principal, User: c.User, Roots: slices.Clone(c.Roots),
		Results: c.Results, Stateless: c.Stateless, Profile: c.Profile, Agent: c.Agent, Parent: c.Parent, Above: c.Above, Planning: c.Profile != nil && c.Profile.Plan,
	}
	if len(c.Roots) > 0 {
		v.Dir = c.Roots[0]
	}
	s := &Session{
		view: v, shared: c.Reads, reads: newReads(), loaded: map[string]bool{},
		questions: questions{slot: make(chan struct{}, 1), put: map[string]bool{}},
	}
	s.view.of = s
	return s
}

// maxOutputs is the maximum length of View.Outputs. A rule that names a file is
// compared with each of them.
const maxOutputs = 200

// View is the part of a session that a call may read. Its fields are as they
// were at the call's turn; its methods return the present records. Slices must
// not be modified.
type View struct {
	ID        string
	Client    string // name of the client, as it gave it at initialize; "": unknown
	Principal string
	User      string   // name of the principal, for the audit log; "": as Principal says
	Dir       string   // working directory: absolute, canonical
	Roots     []string // workspace roots: absolute, canonical
	Results   string   // folder of stored results; may not exist yet
	Outputs   []string // output logs of its commands, which it may read
	Stateless bool     // it is that of requests that name no session; see Forgets
	Planning  bool     // the session is in plan mode
	Profile   *Profile // the tools that it has; nil: all
	Agent     string   // name of the agent whose session it is; "": a client's
	Parent    string   // id of the call that started the agent
	Above     Owner    // of an agent's session: the client's session above it; see Payer
	// Worktree is the git worktree in which the session works; nil: none. Roots and Dir are then
	// those in the worktree.
	Worktree *Worktree
	// AcceptEdits reports whether the user chose the mode acceptEdits for the session. It
	// has no effect in plan mode.
	AcceptEdits bool
	Handle      string // only with Stateless: see Narrow; "" if there is none
	Reminded    bool   // an answer contained the full reminder that file content is data

	of *Session
}

// Named returns the name of the client or agent of the session, as it calls itself; "" if it is
// unknown.
func (v View) Named() string {
	if v.Agent == "" {
		return v.Client
	}
	return "agent " + v.Agent
}

// Loaded reports whether the session has loaded a deferred tool.
func (v View) Loaded(tool string) bool {
	if v.of == nil {
		return false
	}
	v.of.mu.Lock()
	defer v.of.mu.Unlock()
	return v.of.loaded[tool]
}

// Unseen reports whether the client has answered its last question for the user.
func (v View) Unseen() bool {
	if v.of == nil {
		return false
	}
	v.of.mu.Lock()
	defer v.of.mu.Unlock()
	return v.of.unseen
}

// Notice reports whether this is its first call for the session. The caller for
// which it returns true sends the notice that each session gets once.
func (s *Session) Notice() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.noticed
	s.noticed = true
	return first
}

// Posted reports whether this is its first call for the session with a number of at least n. The
// caller for which it returns true sends the text with that number.
func (s *Session) Posted(n uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.posted < n
	s.posted = max(s.posted, n)
	return first
}

// SetClient sets the name of the client. Later calls have no effect, so that a client
// cannot change its name.
func (s *Session) SetClient(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.view.Client == "" {
		s.view.Client = name
	}
}

// SetUnseen sets whether the client has answered its last question for the user.
func (s *Session) SetUnseen(unseen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unseen = unseen
}

// SetProfile sets the profile of a session without one, before its first call.
func (s *Session) SetProfile(p *Profile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.view.Profile == nil && p != nil {
		s.view.Profile, s.view.Planning = p, s.view.Planning || p.Plan
	}
}

// View returns the session's present state.
func (s *Session) View() View {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.view
}

// Effect holds the changes that a call makes to its session. The zero value
// changes nothing.
type Effect struct {
	Dir    string   // new working directory; "": unchanged
	Output string   // output log of a command, for Outputs; "": none
	Reads  []Read   // records of files that were read
	Unread []Read   // files that were read but could not be shown, for Seen
	Loaded []string // names of loaded tools
	Failed []string // keys of failed calls, for Failures

	Reminded    bool  // the answer contains the full reminder that file content is data
	AcceptEdits bool  // the session is in the mode acceptEdits from now on, except in plan mode
	Planning    *bool // whether the session is in plan mode from now on; nil: unchanged
	Move        *Move // into a worktree or out of one; nil: none
}

// IsZero reports whether applying e would change nothing.
func (e Effect) IsZero() bool {
	return e.Dir == "" && e.Output == "" && len(e.Reads) == 0 && len(e.Unread) == 0 && len(e.Loaded) == 0 && len(e.Failed) == 0 && !e.Reminded && e.Planning == nil && !e.AcceptEdits && e.Move == nil
}

// Apply changes the session and then calls the listeners. Of a session that forgets, it only
// keeps what was read, in Config.Reads.
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

// applied holds the changes that an effect made, and the listeners to call.
type applied struct {
	reads     []Read // as stored
	listeners []*func(Read)
	loaded    func() // nil: no further tool was loaded, or no listener is registered
}

// OnLoaded registers f to be called when tools are loaded that were not loaded
// before. A later f replaces it. The scheduler waits for f, so f must neither
// block nor panic.
func (s *Session) OnLoaded(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onLoaded = f
}

func (s *Session) apply(e Effect) (done applied) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.IsZero() {
		return done
	}
	if s.view.Forgets() {
		if s.shared != nil {
			s.shared.Apply(Effect{Reads: e.Reads, Unread: e.Unread})
		}
		return done
	}
	if e.Move != nil {
		s.move(e.Move)
	}
	if e.Dir != "" {
		s.view.Dir = e.Dir
	}
	if e.Output != "" {
		// The append copies, because views already returned share the old
		// slice.
		s.view.Outputs = append(s.view.Outputs[:len(s.view.Outputs):len(s.view.Outputs)], e.Output)
		s.view.Outputs = s.view.Outputs[max(0, len(s.view.Outputs)-maxOutputs):]
	}
	s.view.Reminded = s.view.Reminded || e.Reminded
	s.view.AcceptEdits = s.view.AcceptEdits || e.AcceptEdits
	if e.Planning != nil && !(s.view.Profile != nil && s.view.Profile.Plan) {
		s.view.Planning = *e.Planning
	}
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
