package server

import (
	"context"
	"slices"
	"sync"

	"mcp-toolset/internal/host"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// The way tools are offered to each client (tools.DeferAuto) is decided here.

// offer is the way tools are offered to one client. It does not change after
// tools were listed, so that the list of a connection is stable.
type offer struct {
	mu       sync.Mutex
	deferral tools.Deferral // "": not decided
	fixed    bool           // tools were listed
	notified int            // number of list changes that the client was notified of
}

// offered returns how tools are offered to the client of a request. For a
// client that has not initialized, Config.Defers decides. A request without a
// session gets hints, because it has no connection for which to decide once.
func (s *Server) offered(ctx context.Context) tools.Deferral {
	how, conv := s.Registry.Deferral(), callFrom(ctx).conv
	switch {
	case how != tools.DeferAuto:
		return how
	case conv == nil:
		return s.Registry.View(s.profile(ctx)).Resolve(how, s.Defers)
	case conv.session.View().Stateless:
		return tools.DeferHints
	}
	conv.offer.mu.Lock()
	defer conv.offer.mu.Unlock()
	if conv.offer.deferral == "" {
		s.decide(ctx, &conv.offer, s.Defers)
	}
	return conv.offer.deferral
}

// profile returns the profile of the client of a request.
func (s *Server) profile(ctx context.Context) *session.Profile {
	if conv := callFrom(ctx).conv; conv != nil {
		return conv.session.View().Profile
	}
	return s.Profile
}

// offerTo decides how tools are offered to a client that initializes with this
// name.
func (s *Server) offerTo(ctx context.Context, name string) tools.Deferral {
	conv := callFrom(ctx).conv
	if s.Registry.Deferral() == tools.DeferAuto && conv != nil {
		conv.offer.mu.Lock()
		if !conv.offer.fixed {
			s.decide(ctx, &conv.offer, s.Defers || host.Of(name).Defers)
		}
		conv.offer.mu.Unlock()
	}
	how := s.offered(ctx)
	s.Log.Debug("a client has initialized", "name", name, "deferral", string(how), "tools", len(s.Registry.ListedFor(s.profile(ctx), how, nil)))
	return how
}

// decide sets an offer. The caller holds its mu.
func (s *Server) decide(ctx context.Context, o *offer, defers bool) {
	o.deferral = s.Registry.View(s.profile(ctx)).Resolve(tools.DeferAuto, defers)
	o.notified = s.last.changed(o.deferral)
}

// fix records that tools were listed.
func (o *offer) fix() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fixed = true
}

// notifiedLists holds the list at the last notification and the number of changes, for each
// deferral.
type notifiedLists struct {
	mu      sync.Mutex
	list    map[tools.Deferral][]*tools.Tool
	changes map[tools.Deferral]int
}

// update records the present lists and reports whether any has changed.
func (t *notifiedLists) update(r *tools.Registry) (changed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ways := []tools.Deferral{r.Deferral()}
	if ways[0] == tools.DeferAuto {
		ways = []tools.Deferral{tools.DeferHints, tools.DeferDispatch}
	}
	if t.list == nil {
		t.list, t.changes = map[tools.Deferral][]*tools.Tool{}, map[tools.Deferral]int{}
	}
	for _, how := range ways {
		if now := r.Listed(how, nil); !slices.Equal(t.list[how], now) {
			t.list[how] = now
			t.changes[how]++
			changed = true
		}
	}
	return changed
}

// changed returns how many times the list for a deferral has changed.
func (t *notifiedLists) changed(how tools.Deferral) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes[how]
}

// hasListChanged reports whether the client's list has changed since its last
// notification. A change may concern only the lists of clients with another
// deferral.
func (s *Server) hasListChanged(conv *conversation) bool {
	if s.Registry.Deferral() != tools.DeferAuto {
		return true
	}
	conv.offer.mu.Lock()
	defer conv.offer.mu.Unlock()
	now := s.last.changed(conv.offer.deferral)
	news := conv.offer.deferral == "" || conv.offer.notified != now
	conv.offer.notified = now
	return news
}
