package server

import (
	"crypto/rand"
	"errors"
	"regexp"

	"github.com/mark3labs/mcp-go/mcp"

	"mcp-toolset/session"
)

// metaSession is the key of the handle of a session in _meta. Requests of protocol 2026-07-28
// over HTTP belong to no session. Each result has a handle; a client that sends it with later
// requests has its background tasks and events for itself.
const metaSession = "mcp-toolset/session"

var sessionHandle = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// narrow gives a stateless session the handle of its request, if it has one.
func narrow(s *session.Session, meta *mcp.Meta) error {
	if meta == nil || !s.View().Stateless {
		return nil
	}
	sent, ok := meta.AdditionalFields[metaSession]
	if !ok {
		return nil
	}
	handle, _ := sent.(string)
	if !sessionHandle.MatchString(handle) {
		return errors.New("_meta has the key " + metaSession + " with a value that is no handle of a result")
	}
	s.Narrow(handle)
	return nil
}

// offerHandle adds the handle of a stateless session, or a new one, to a result.
func offerHandle(r *mcp.CallToolResult, v session.View) {
	if !v.Stateless {
		return
	}
	handle := v.Handle
	if handle == "" {
		handle = rand.Text()
	}
	if r.Meta == nil {
		r.Meta = &mcp.Meta{}
	}
	if r.Meta.AdditionalFields == nil {
		r.Meta.AdditionalFields = map[string]any{}
	}
	r.Meta.AdditionalFields[metaSession] = handle
}
