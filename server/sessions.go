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
// id. It stands in for the library's manager, which accepts ids it never gave
// out or remembers ended ones for ever.
type sessions struct {
	s         *Server
	transport http.Handler // the library's, which has state of its own for each session

	mu   sync.Mutex
	byID map[string]*httpSession
}

type httpSession struct {
	conv   *conversation
	used   time.Time
	active int // requests in progress
}

var _ mcpserver.SessionIdManager = (*sessions)(nil)

func newSessions(s *Server) *sessions { return &sessions{s: s, byID: map[string]*httpSession{}} }

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
	conv.id = id
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

// Terminate ends a session.
func (m *sessions) Terminate(id string) (notAllowed bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.remove(id)
	return false, nil
}

// remove ends a session. The caller holds mu.
func (m *sessions) remove(id string) {
	if h := m.byID[id]; h != nil {
		m.s.close(h.conv)
		delete(m.byID, id)
	}
}

// has reports whether a session is open.
func (m *sessions) has(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byID[id] != nil
}

// use is the conversation of a request, until done. A request without a
// session is a conversation of its own, which remembers nothing.
func (m *sessions) use(id string) *conversation {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.byID[id]; h != nil {
		h.active++
		return h.conv
	}
	return m.s.open(httpPrincipal, true)
}

// done ends what use began.
func (m *sessions) done(c *conversation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.id == "" {
		m.s.close(c)
	} else if h := m.byID[c.id]; h != nil {
		h.active--
		h.used = time.Now()
	}
}

func (m *sessions) closeAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.byID {
		m.remove(id)
	}
}
