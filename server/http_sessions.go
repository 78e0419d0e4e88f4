package server

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/internal/identity"
)

// sessions holds the conversations of HTTP clients with sessions, by session
// id, and the requests in progress. It replaces the library's manager, which
// accepts ids that it never issued or remembers ended ones forever.
type sessions struct {
	s         *Server
	transport http.Handler // the library's, which has its own state for each session

	mu      sync.Mutex
	byID    map[string]*httpSession
	live    map[*httpRequest]struct{}
	entered uint64 // number of requests, for their numbers
}

type httpSession struct {
	conv   *conversation      // nil until attach
	by     identity.Principal // of its latest request
	agents hostAgents
	used   time.Time
	active int  // requests in progress, without listening streams
	ending bool // its client has asked to end it
	ended  bool
	early  []earlyCancel
}

var _ mcpserver.SessionIdManager = (*sessions)(nil)

func newSessions(s *Server) *sessions {
	return &sessions{s: s, byID: map[string]*httpSession{}, live: map[*httpRequest]struct{}{}}
}

// Generate returns the id of a new session, which attach opens.
func (m *sessions) Generate() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := rand.Text() // 128 bits
	m.byID[id] = &httpSession{used: time.Now()}
	return id
}

// full reports whether a principal has as many sessions as it may have. idle is the id of the least
// recently used one without a request in progress; "" if there is none.
func (m *sessions) full(principal string) (idle string, full bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	have := 0
	for id, h := range m.byID {
		if h.by.ID != principal {
			continue
		}
		if have++; h.active == 0 && (idle == "" || h.used.Before(m.byID[idle].used)) {
			idle = id
		}
	}
	return idle, have >= m.s.limitOf(principal)
}

// endOf ends the sessions whose latest request was one of a principal that is not valid any more, and
// the requests of such principals.
func (m *sessions) endOf(valid func(identity.Principal) bool) {
	m.mu.Lock()
	m.cancelWhere(nil, func(r *httpRequest) bool { return !valid(r.by) })
	var ids []string
	for id, h := range m.byID {
		if h.conv != nil && !valid(h.by) {
			h.ending = true // whatever is in progress
			ids = append(ids, id)
		}
	}
	m.mu.Unlock()
	for _, id := range ids {
		m.end(id)
	}
	for _, conv := range m.s.handles.endOf(valid) {
		m.s.close(conv)
	}
}

// end ends a session, also in the library, by the request that a client would
// send.
func (m *sessions) end(id string) {
	if id == "" || !m.has(id) {
		return
	}
	r := &http.Request{Method: http.MethodDelete, URL: &url.URL{Path: "/mcp"}, Header: http.Header{}}
	r.Header.Set(mcpserver.HeaderKeySessionID, id)
	m.transport.ServeHTTP(discardResponse{}, r)
}

// discardResponse discards the response to a request of the server itself.
type discardResponse struct{}

func (discardResponse) Header() http.Header         { return http.Header{} }
func (discardResponse) WriteHeader(int)             {}
func (discardResponse) Write(p []byte) (int, error) { return len(p), nil }

var errNoSession = errors.New("there is no such session")

// Validate returns an error unless the session is open. It marks the session as
// used.
func (m *sessions) Validate(id string) (terminated bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.byID[id]
	if h == nil {
		return false, errNoSession
	}
	h.used = time.Now()
	return false, nil
}

// Terminate ends a session. If its client has asked for that, the requests in
// progress are cancelled. The library also ends sessions that it considers
// unused; Terminate ignores that for a session with a request in progress.
func (m *sessions) Terminate(id string) (notAllowed bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.byID[id]; h != nil && (h.active == 0 || h.ending) {
		m.remove(id)
	}
	return false, nil
}

// remove ends a session. It cancels the session's requests and closes its
// conversation after the last of them. The caller holds mu.
func (m *sessions) remove(id string) {
	h := m.byID[id]
	if h == nil {
		return
	}
	delete(m.byID, id)
	h.ended = true
	m.cancelWhere(nil, func(r *httpRequest) bool { return r.session == h })
	if h.active == 0 {
		h.close(m.s)
	}
}

// close ends the conversations of a session.
func (h *httpSession) close(s *Server) {
	if h.conv == nil {
		return
	}
	h.agents.end(s)
	s.close(h.conv)
}

// has reports whether a session is open.
func (m *sessions) has(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byID[id] != nil
}

// open reports whether a session is open, and one of the principal.
func (m *sessions) open(id string, by identity.Principal) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.byID[id]
	return h != nil && h.by.ID == by.ID
}

// answered passes a client's answer to the session with this id.
func (m *sessions) answered(id string, a message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.byID[id]
	if h == nil {
		return
	}
	h.used = time.Now()
	if !h.conv.asked.answer(a) {
		m.s.Log.Debug("an answer to no request was dropped")
	}
}

// willEnd records that a client ends its session, and reports whether the
// session is open.
func (m *sessions) willEnd(id string, by identity.Principal) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.byID[id]
	if h == nil || h.by.ID != by.ID {
		return false
	}
	h.ending = true
	return true
}

// closeAll ends all sessions when the server has ended. It does not wait: a
// call that ignores its cancel may still be running.
func (m *sessions) closeAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.s.handles.mu.Lock()
	for key, one := range m.s.handles.of {
		delete(m.s.handles.of, key)
		m.s.close(one.conv)
	}
	m.s.handles.mu.Unlock()
	for id, h := range m.byID {
		if h.active > 0 {
			h.close(m.s)
			h.conv = nil // closed
		}
		m.remove(id)
	}
}
