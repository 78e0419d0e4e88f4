package server

// This file is what is known of HTTP requests while they are served: whose they
// are, and how they are cancelled. A cancelled request is not answered.

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// earlyKept is how long a cancel that names no request in progress waits
	// for it: sent on a connection of its own, it may overtake its request.
	earlyKept = 5 * time.Second
	// maxEarly bounds such cancels of a session; the oldest goes. Ids over
	// maxEarlyID bytes do not wait.
	maxEarly   = 100
	maxEarlyID = 100
)

type earlyCancel struct {
	id    string
	until time.Time
}

// httpRequest is one that is being served. Its fields belong to sessions.mu,
// but for those that never change.
type httpRequest struct {
	number  uint64 // in order of arrival
	id      string // canonical; "" if nothing answers it by an id
	listens bool   // a stream for what the server sends by itself
	cancel  context.CancelFunc

	session   *httpSession // nil: none
	answering bool         // too late to cancel
	cancelled bool         // nothing more is written
	stopped   bool         // cut off by the server's end
}

// enter takes in a request, of an open session if it names one. A call has its
// place from here on, and a cancel finds the request. The library must not see
// one that was cancelled before it came. Every request that entered must leave.
func (m *sessions) enter(in *incoming, r *httpRequest, sessionID string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if sessionID != "" {
		h := m.byID[sessionID]
		if h == nil {
			return errNoSession
		}
		m.join(in, r, h)
		r.cancelled = h.takeEarly(r.id)
	}
	m.entered++
	r.number = m.entered
	m.live[r] = struct{}{}
	in.request = r
	if sessionID != "" && !r.cancelled {
		in.arrive()
	}
	return nil
}

// join makes a request one of a session. The caller holds mu.
func (m *sessions) join(in *incoming, r *httpRequest, h *httpSession) {
	r.session, in.conv = h, h.conv
	if h.used = time.Now(); !r.listens {
		h.active++
	}
}

// attach gives a request that entered without one the session that the library
// opened for it, or a conversation of its own, which remembers nothing.
func (m *sessions) attach(in *incoming, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if in.conv != nil {
		return
	}
	if h := m.byID[id]; h != nil {
		m.join(in, in.request, h)
	} else {
		in.conv = m.s.open(httpPrincipal, true)
	}
	in.arrive()
}

// arrive takes the place of a call. Without room there is none, and handle
// says so.
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
	case h == nil && in.conv != nil:
		m.s.close(in.conv)
	case h != nil && !r.listens:
		h.active--
		h.used = time.Now()
		if h.ended && h.active == 0 && h.conv != nil {
			m.s.close(h.conv)
		}
	}
}

// cancelIn cancels the request of a session that has an id, or notes that it is
// to be when it comes. One that is being answered is left alone.
func (m *sessions) cancelIn(h *httpSession, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := false
	m.cancelWhere(func(r *httpRequest) bool {
		is := r.session == h && r.id == id
		found = found || is
		return is
	})
	if !found && len(id) <= maxEarlyID {
		h.addEarly(id)
	}
}

// stopAll cuts every request off: the server ends. No client has cancelled
// them, so they are told.
func (m *sessions) stopAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.choose(func(*httpRequest) bool { return true }) {
		r.stopped = true
		r.cancel()
	}
}

// cancelWhere cancels requests. The caller holds mu.
func (m *sessions) cancelWhere(which func(*httpRequest) bool) {
	for _, r := range m.choose(which) {
		r.cancelled = r.id != "" || r.listens
		r.cancel()
	}
}

// choose returns requests that have no answer yet, the latest first: that is how
// they are cancelled, because when one that runs ends, those that waited for it
// must not be about to start. The caller holds mu.
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

// answer reports whether a request is to be answered, which it can then not be
// kept from any more.
func (m *sessions) answer(r *httpRequest) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.answering = !r.cancelled
	return r.answering
}

// wanted reports whether something may still be written for a request.
func (m *sessions) wanted(r *httpRequest) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !r.cancelled
}

// wasStopped reports whether the server's end has cut a request off.
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
	h.early = append(h.early, earlyCancel{id, now.Add(earlyKept)})
}

// takeEarly reports whether a request was cancelled before it came.
func (h *httpSession) takeEarly(id string) bool {
	i := slices.IndexFunc(h.early, func(e earlyCancel) bool { return e.id == id && id != "" })
	if i < 0 {
		return false
	}
	e := h.early[i]
	h.early = slices.Delete(h.early, i, i+1)
	return time.Now().Before(e.until)
}
