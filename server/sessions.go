package server

import (
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	mcpserver "github.com/mark3labs/mcp-go/server"
)

// sessions are the conversations of HTTP clients of the legacy era, by session
// id, and the requests that are being served. It stands in for the library's
// manager, which accepts ids it never gave out or remembers ended ones for ever.
type sessions struct {
	s         *Server
	transport http.Handler // the library's, which has state of its own for each session

	mu      sync.Mutex
	byID    map[string]*httpSession
	live    map[*httpRequest]struct{}
	entered uint64 // requests, for their numbers
}

type httpSession struct {
	conv   *conversation
	used   time.Time
	active int  // requests in progress, listening streams not counted
	ending bool // its client has asked for its end
	ended  bool
	early  []earlyCancel
}

var _ mcpserver.SessionIdManager = (*sessions)(nil)

func newSessions(s *Server) *sessions {
	return &sessions{s: s, byID: map[string]*httpSession{}, live: map[*httpRequest]struct{}{}}
}

// Generate opens a session. When there are too many, the one unused for
// longest ends; those with a request in progress stay.
func (m *sessions) Generate() string {
	conv := m.s.open(httpPrincipal, false)
	id := rand.Text() // 128 bits
	m.mu.Lock()
	oldest := ""
	if len(m.byID) >= maxSessions {
		for id, h := range m.byID {
			if h.active == 0 && (oldest == "" || h.used.Before(m.byID[oldest].used)) {
				oldest = id
			}
		}
	}
	m.byID[id] = &httpSession{conv: conv, used: time.Now()}
	m.mu.Unlock()
	m.end(oldest)
	return id
}

// end ends a session in the library too, by the request a client would send.
func (m *sessions) end(id string) {
	if id == "" || !m.has(id) {
		return
	}
	r := &http.Request{Method: http.MethodDelete, URL: &url.URL{Path: "/mcp"}, Header: http.Header{}}
	r.Header.Set(mcpserver.HeaderKeySessionID, id)
	m.transport.ServeHTTP(nowhere{}, r)
}

// nowhere is the response to a request of our own.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) WriteHeader(int)             {}
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

var errNoSession = errors.New("there is no such session")

// Validate accepts the ids of open sessions.
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

// Terminate ends a session, with all it is doing if its client has asked for
// that. The library also ends sessions it takes for unused; one with a request
// in progress is not.
func (m *sessions) Terminate(id string) (notAllowed bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.byID[id]; h != nil && (h.active == 0 || h.ending) {
		m.remove(id)
	}
	return false, nil
}

// remove ends a session: its requests are cancelled, and its conversation is
// closed when the last of them is over. The caller holds mu.
func (m *sessions) remove(id string) {
	h := m.byID[id]
	if h == nil {
		return
	}
	delete(m.byID, id)
	h.ended = true
	m.cancelWhere(func(r *httpRequest) bool { return r.session == h })
	if h.active == 0 {
		m.s.close(h.conv)
	}
}

// has reports whether a session is open.
func (m *sessions) has(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byID[id] != nil
}

// answered hands an answer to the session that was asked.
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

// willEnd notes that a session's client asks for its end, and reports whether
// the session is open.
func (m *sessions) willEnd(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.byID[id]
	if h == nil {
		return false
	}
	h.ending = true
	return true
}

// closeAll ends all sessions of a server that has ended. It waits for nobody:
// a call that does not listen may still be running.
func (m *sessions) closeAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, h := range m.byID {
		if h.active > 0 {
			m.s.close(h.conv)
			h.conv = nil // closed
		}
		m.remove(id)
	}
}
