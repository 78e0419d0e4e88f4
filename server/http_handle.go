package server

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcp-toolset/session"
)

// metaSession is the key of the handle of a session in _meta. Requests of protocol 2026-07-28
// over HTTP belong to no session. Each result has a handle. A client that sends it with later
// requests has a session for itself, with background tasks, events and so on.
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

// handles holds the sessions of handles. Their clients never end them.
type handles struct {
	mu sync.Mutex
	of map[session.Owner]*handled
}

type handled struct {
	view session.View
	used time.Time
}

// use records a use of a session. If there are too many, it returns the least recently
// used one, which ends.
func (h *handles) use(v session.View, now time.Time) (ended []session.View) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.of[v.Owner()]; one != nil {
		one.used = now
		return nil
	}
	if len(h.of) >= maxSessions {
		oldest := slices.MinFunc(slices.Collect(maps.Values(h.of)), func(a, b *handled) int { return a.used.Compare(b.used) })
		delete(h.of, oldest.view.Owner())
		ended = append(ended, oldest.view)
	}
	if h.of == nil {
		h.of = map[session.Owner]*handled{}
	}
	h.of[v.Owner()] = &handled{v, now}
	return ended
}

// idle returns the sessions that were not used for sessionIdle, which end. It counts those for
// which listens returns true as used.
func (h *handles) idle(now time.Time, listens func(session.Owner) bool) (ended []session.View) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for o, one := range h.of {
		switch {
		case listens(o):
			one.used = now
		case now.Sub(one.used) >= sessionIdle:
			delete(h.of, o)
			ended = append(ended, one.view)
		}
	}
	return ended
}

// endIdle ends sessions of handles that are not used, until ctx ends.
func (s *Server) endIdle(ctx context.Context) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for _, v := range s.handles.idle(now, s.subscribers.has) {
				s.ended(v)
			}
		}
	}
}
