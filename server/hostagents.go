package server

import (
	"time"

	"mcp-toolset/internal/identity"
)

// metaAgent is the key of the id of an agent in _meta. A host whose agents share a connection
// sends it with the calls of each agent but the main one, and each has a session of its own. It
// begins where the main agent is, in its mode.
const metaAgent = "mcp-toolset/agent"

// hostAgents holds the conversations of a host's agents on one connection, as those of handles.
type hostAgents struct{ handles }

// enter returns the conversation of an agent, or main for the id "". The caller must call leave.
func (a *hostAgents) enter(s *Server, main *conversation, id string) *conversation {
	if id == "" {
		return main
	}
	conv, ended := a.handles.enter(handleKey{handle: id}, identity.Principal{}, maxSessions, time.Now(), func() *conversation {
		v := main.session.View()
		c := s.openAgent(v, id, "", v.Client, v.Profile).conv
		c.asked = main.asked
		main.offer.mu.Lock()
		c.offer.deferral, c.offer.fixed = main.offer.deferral, main.offer.fixed
		main.offer.mu.Unlock()
		return c
	})
	for _, c := range ended {
		s.ends(c)
	}
	return conv
}

func (a *hostAgents) leave(id string) {
	if id != "" {
		a.handles.leave(handleKey{handle: id}, time.Now())
	}
}

// end ends all conversations.
func (a *hostAgents) end(s *Server) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, one := range a.of {
		delete(a.of, key)
		s.ends(one.conv)
	}
}
