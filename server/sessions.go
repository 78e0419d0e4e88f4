package server

import (
	"crypto/rand"
	"errors"
	"sync"
	"time"

	mcpserver "github.com/mark3labs/mcp-go/server"
)

// sessions are the conversations of HTTP clients of the legacy era, by session
// id. It stands in for the library's manager, which accepts ids it never gave
// out or remembers ended ones for ever.
type sessions struct {
	s *Server

	mu   sync.Mutex
	byID map[string]*httpSession
}

type httpSession struct {
	conv *conversation
	used time.Time
}

var _ mcpserver.SessionIdManager = (*sessions)(nil)

func newSessions(s *Server) *sessions { return &sessions{s: s, byID: map[string]*httpSession{}} }

// Generate opens a session. When there are too many, the one unused for
// longest ends.
func (m *sessions) Generate() string {
	conv := m.s.open(httpPrincipal, false)
	id := rand.Text() // 128 bits
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.byID) >= maxSessions {
		oldest := ""
		for id, h := range m.byID {
			if oldest == "" || h.used.Before(m.byID[oldest].used) {
				oldest = id
			}
		}
		m.remove(oldest)
	}
	m.byID[id] = &httpSession{conv: conv, used: time.Now()}
	return id
}

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

// conversation is a session's; nil when there is none.
func (m *sessions) conversation(id string) *conversation {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.byID[id]; h != nil {
		return h.conv
	}
	return nil
}

func (m *sessions) closeAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.byID {
		m.remove(id)
	}
}
