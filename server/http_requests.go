package server

// HTTP requests in progress are recorded here, with their sessions, so that
// they can be cancelled. A cancelled request gets no answer.

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcp-toolset/internal/identity"
)

const (
	// earlyMaxAge is the time for which a cancel waits for its request. Sent on
	// its own connection, a cancel may overtake the request.
	earlyMaxAge = 5 * time.Second
	// maxEarly limits the waiting cancels of a session; the oldest is dropped.
	// Ids longer than maxEarlyID bytes do not wait.
	maxEarly   = 100
	maxEarlyID = 100
)

type earlyCancel struct {
	id    string
	until time.Time
}

// httpRequest is a request in progress. sessions.mu guards the fields that
// change.
type httpRequest struct {
	number       uint64 // in order of arrival
	id           string // canonical; "" if the request has no answer by id
	serverStream bool   // a stream for messages of the server
	by           identity.Principal
	cancel       context.CancelCauseFunc

	session   *httpSession // nil: none
	answering bool         // too late to cancel
	cancelled bool         // nothing more is written
	stopped   bool         // cut off because the server ends
}

// enter registers a request, in the open session that it names, if any. From
// then on a call has its place and a cancel finds the request. A request that
// was cancelled before it arrived must not reach the library. The caller must
// call leave for each request that entered.
func (m *sessions) enter(in *incoming, r *httpRequest, sessionID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if sessionID != "" {
		h := m.byID[sessionID]
		if h == nil || h.conv == nil || h.by.ID != in.by.ID || h.conv.session.View().Profile != in.profile {
			return errNoSession
		}
		h.by = in.by
		m.join(in, r, h)
		r.cancelled = h.takeEarly(r.id)
	}
	m.entered++
	r.number, r.by = m.entered, in.by
	m.live[r] = struct{}{}
	in.request = r
	if sessionID != "" && !r.cancelled {
		in.arrive()
	}
	return nil
}

// join adds a request to a session. The caller holds mu.
func (m *sessions) join(in *incoming, r *httpRequest, h *httpSession) {
	r.session, in.conv = h, h.agents.enter(m.s, h.conv, in.agent)
	if h.used = time.Now(); !r.serverStream {
		h.active++
	}
}

// attach gives a request without a session the one that the library opened for
// it, or a stateless conversation of its own.
func (m *sessions) attach(in *incoming, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if in.conv != nil {
		return
	}
	if h := m.byID[id]; h != nil {
		h.by, h.conv = in.by, m.s.open(in.by, false, in.profile) // it is new: enter has joined other requests
		m.join(in, in.request, h)
	} else if in.handle != "" {
		in.conv = m.s.keep(in)
	} else {
		in.conv = m.s.open(in.by, true, in.profile)
	}
	in.arrive()
}

// arrive takes the place of a call. Without room, the ticket stays nil and
// handle refuses the call.
func (in *incoming) arrive() {
	if in.method == string(mcp.MethodToolsCall) {
		in.ticket, _ = in.conv.lane.Arrive()
	}
}

// leave ends what enter and attach began.
func (m *sessions) leave(in *incoming) {
	if in.ticket != nil {
		in.ticket.Leave()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := in.request
	delete(m.live, r)
	h := r.session
	switch {
	case h == nil && in.conv != nil && in.handle != "":
		m.s.handles.leave(keyOf(in), time.Now())
	case h == nil && in.conv != nil:
		m.s.close(in.conv)
	case h != nil:
		h.agents.leave(in.agent)
		if r.serverStream {
			break
		}
		h.active--
		h.used = time.Now()
		if h.ended && h.active == 0 && h.conv != nil {
			h.close(m.s)
		}
	}
}

// cancelIn cancels the session's request with this id, or records the cancel
// until the request arrives. It does nothing to a request whose answer is being
// written.
func (m *sessions) cancelIn(h *httpSession, id string, cause error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := false
	m.cancelWhere(cause, func(r *httpRequest) bool {
		is := r.session == h && r.id == id
		found = found || is
		return is
	})
	if !found && len(id) <= maxEarlyID {
		h.addEarly(id)
	}
}

// stopAll cuts off all requests because the server ends. They get an answer,
// because no client has cancelled them.
func (m *sessions) stopAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.choose(func(*httpRequest) bool { return true }) {
		r.stopped = true
		r.cancel(nil)
	}
}

// cancelWhere cancels the requests that which selects. The caller holds mu.
func (m *sessions) cancelWhere(cause error, which func(*httpRequest) bool) {
	for _, r := range m.choose(which) {
		r.cancelled = r.id != "" || r.serverStream
		r.cancel(cause)
	}
}

// choose returns the selected requests without an answer, the latest first.
// They must be cancelled in that order: otherwise the end of a running call
// would start a waiting one that is about to be cancelled. The caller holds mu.
func (m *sessions) choose(which func(*httpRequest) bool) []*httpRequest {
	var chosen []*httpRequest
	for r := range m.live {
		if which(r) && !r.answering {
			chosen = append(chosen, r)
		}
	}
	slices.SortFunc(chosen, func(a, b *httpRequest) int { return cmp.Compare(b.number, a.number) })
	return chosen
}

// answer reports whether a request may be answered. If so, it cannot be
// cancelled any more.
func (m *sessions) answer(r *httpRequest) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.answering = !r.cancelled
	return r.answering
}

// mayWrite reports whether anything may still be written for a request.
func (m *sessions) mayWrite(r *httpRequest) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !r.cancelled
}

// wasStopped reports whether the request was cut off because the server ends.
func (m *sessions) wasStopped(r *httpRequest) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return r.stopped
}

func (h *httpSession) addEarly(id string) {
	now := time.Now()
	h.early = slices.DeleteFunc(h.early, func(e earlyCancel) bool { return e.id == id || now.After(e.until) })
	if len(h.early) >= maxEarly {
		h.early = slices.Delete(h.early, 0, 1)
	}
	h.early = append(h.early, earlyCancel{id, now.Add(earlyMaxAge)})
}

// takeEarly reports whether a request was cancelled before it arrived. It
// removes that cancel.
func (h *httpSession) takeEarly(id string) bool {
	i := slices.IndexFunc(h.early, func(e earlyCancel) bool { return e.id == id && id != "" })
	if i < 0 {
		return false
	}
	e := h.early[i]
	h.early = slices.Delete(h.early, i, i+1)
	return time.Now().Before(e.until)
}
