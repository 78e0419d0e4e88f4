package server

import (
	"context"
	"crypto/rand"
	"errors"
	"regexp"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcp-toolset/internal/identity"
	"mcp-toolset/session"
)

// metaSession is the key of the handle of a session in _meta. Requests of protocol 2026-07-28
// over HTTP belong to no session. Each result has a handle. A client that sends it with later
// requests has a session for itself, as in earlier protocols.
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
	of map[handleKey]*handled
}

// handleKey identifies the session of a handle: one of a principal or profile is not that of another.
type handleKey struct {
	principal, handle string
	profile           *session.Profile
}

func keyOf(in *incoming) handleKey { return handleKey{in.by.ID, in.handle, in.profile} }

type handled struct {
	conv   *conversation
	by     identity.Principal // of its latest request
	used   time.Time
	active int // requests in progress
}

// keep returns the conversation of a request with a handle. It ends others if there are too many.
func (s *Server) keep(in *incoming) *conversation {
	conv, ended := s.handles.enter(keyOf(in), in.by, s.limitOf(in.by.ID), time.Now(), func() *conversation {
		c := s.open(in.by, true, in.profile)
		c.session.Narrow(in.handle)
		return c
	})
	for _, c := range ended {
		s.close(c)
	}
	return conv
}

// enter returns the conversation of a handle. If there is none, open makes it. If the principal has
// limit of them, enter also returns the principal's least recently used one, which ends.
func (h *handles) enter(key handleKey, by identity.Principal, limit int, now time.Time, open func() *conversation) (conv *conversation, ended []*conversation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.of[key]
	if one == nil {
		ended = h.drop(by.ID, limit)
		if h.of == nil {
			h.of = map[handleKey]*handled{}
		}
		one = &handled{conv: open()}
		h.of[key] = one
	}
	one.by, one.used = by, now
	one.active++
	return one.conv, ended
}

// drop removes a principal's least recently used conversation without a request in progress, and
// returns it, if the principal has limit of them. The caller holds mu.
func (h *handles) drop(principal string, limit int) []*conversation {
	var oldest handleKey
	have := 0
	for key, one := range h.of {
		if one.by.ID != principal {
			continue
		}
		if have++; one.active == 0 && (h.of[oldest] == nil || one.used.Before(h.of[oldest].used)) {
			oldest = key
		}
	}
	one := h.of[oldest]
	if one == nil || have < limit {
		return nil
	}
	delete(h.of, oldest)
	return []*conversation{one.conv}
}

// endOf removes the conversations whose latest request was one of a principal that is not valid any
// more, and returns them.
func (h *handles) endOf(valid func(identity.Principal) bool) (ended []*conversation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, one := range h.of {
		if !valid(one.by) {
			delete(h.of, key)
			ended = append(ended, one.conv)
		}
	}
	return ended
}

// leave ends a request of a handle.
func (h *handles) leave(key handleKey, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if one := h.of[key]; one != nil {
		one.active--
		one.used = now
	}
}

// idle returns the conversations that were not used for sessionIdle, which end. It counts those for
// which listens returns true as used.
func (h *handles) idle(now time.Time, listens func(session.Owner) bool) (ended []*conversation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, one := range h.of {
		switch {
		case one.active > 0 || listens(one.conv.session.View().Owner()):
			one.used = now
		case now.Sub(one.used) >= sessionIdle:
			delete(h.of, key)
			ended = append(ended, one.conv)
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
			for _, c := range s.handles.idle(now, s.subscribers.has) {
				s.close(c)
			}
		}
	}
}
