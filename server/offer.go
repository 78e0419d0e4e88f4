package server

import (
	"context"
	"slices"
	"strings"
	"sync"

	"mcp-toolset/tools"
)

// This file decides how tools are offered to one client (tools.DeferAuto).

// offer is how tools are offered in one conversation. It does not change once they
// were listed, so that a list never varies on a connection.
type offer struct {
	mu    sync.Mutex
	how   tools.Deferral // "": not decided
	fixed bool           // tools were listed
	news  int            // changes of the list that the client was notified of
}

// deferringClients are the clients, by their name at initialize, that defer tools
// by themselves.
var deferringClients = []string{"claude-code"}

// offered returns how tools are offered to the client of a request. A client that
// has not initialized is judged by Defers; over HTTP it gets hints, because there
// is no connection whose list could be decided once.
func (s *Server) offered(ctx context.Context) tools.Deferral {
	how, conv := s.Registry.Deferral(), callFrom(ctx).conv
	switch {
	case how != tools.DeferAuto:
		return how
	case conv == nil:
		return s.Registry.Catalogue().Resolve(how, s.Defers)
	case conv.session.View().Stateless:
		return tools.DeferHints
	}
	conv.offer.mu.Lock()
	defer conv.offer.mu.Unlock()
	if conv.offer.how == "" {
		s.decide(&conv.offer, s.Defers)
	}
	return conv.offer.how
}

// offerTo decides how tools are offered to a client that initializes under a name.
func (s *Server) offerTo(ctx context.Context, name string) tools.Deferral {
	conv := callFrom(ctx).conv
	if s.Registry.Deferral() == tools.DeferAuto && conv != nil {
		conv.offer.mu.Lock()
		if !conv.offer.fixed {
			s.decide(&conv.offer, s.Defers || defersTools(name))
		}
		conv.offer.mu.Unlock()
	}
	how := s.offered(ctx)
	s.Log.Debug("a client has initialized", "name", name, "deferral", string(how), "tools", len(s.Registry.Listed(how, nil)))
	return how
}

// decide sets an offer. The caller holds its mu.
func (s *Server) decide(o *offer, defers bool) {
	o.how = s.Registry.Catalogue().Resolve(tools.DeferAuto, defers)
	o.news = s.last.changed(o.how)
}

// defersTools reports whether a client of a name defers tools by itself.
func defersTools(name string) bool {
	return slices.ContainsFunc(deferringClients, func(known string) bool { return strings.EqualFold(known, name) })
}

// fix notes that tools were listed.
func (o *offer) fix() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fixed = true
}

// told is the list at the last notification of a change, and the number of changes,
// for each way in which tools are offered.
type told struct {
	mu      sync.Mutex
	list    map[tools.Deferral][]*tools.Tool
	changes map[tools.Deferral]int
}

// update records the lists as they are now, and reports whether one has changed.
func (t *told) update(r *tools.Registry) (changed bool) {
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

// changed returns how often the list has changed for a way of offering tools.
func (t *told) changed(how tools.Deferral) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes[how]
}

// isNews reports whether the list of a conversation's client has changed since the
// client was last notified. A change may be only on lists of clients to which tools
// are offered in another way.
func (s *Server) isNews(conv *conversation) bool {
	if s.Registry.Deferral() != tools.DeferAuto {
		return true
	}
	conv.offer.mu.Lock()
	defer conv.offer.mu.Unlock()
	now := s.last.changed(conv.offer.how)
	news := conv.offer.how == "" || conv.offer.news != now
	conv.offer.news = now
	return news
}
