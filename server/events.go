package server

// The events of a session as a resource, for clients that use resources.

import (
	"context"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/internal/event"
	"mcp-toolset/session"
)

// eventsURI is the resource with the events of a session. Reading it takes them, like an
// answer to a call.
const eventsURI = "mcp-toolset://events"

// subscribers holds the clients that are notified of events, by owner.
type subscribers struct {
	mu sync.Mutex
	of map[session.Owner]map[string]bool // ids of the library's sessions
}

// set adds or removes a client.
func (s *subscribers) set(o session.Owner, client string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case on && s.of[o] == nil:
		s.of[o] = map[string]bool{client: true}
	case on:
		s.of[o][client] = true
	default:
		if delete(s.of[o], client); len(s.of[o]) == 0 {
			delete(s.of, o)
		}
	}
}

// forget removes all clients of an owner that has ended.
func (s *subscribers) forget(o session.Owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, o)
}

func (s *subscribers) clients(o session.Owner) (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.of[o] {
		ids = append(ids, id)
	}
	return ids
}

// offerEvents adds the resource to the server.
func (s *Server) offerEvents(hooks *mcpserver.Hooks) {
	hooks.AddAfterSubscribe(func(ctx context.Context, _ any, r *mcp.SubscribeRequest, _ *mcp.EmptyResult) {
		s.subscribe(ctx, r.Params.URI, true)
	})
	hooks.AddAfterUnsubscribe(func(ctx context.Context, _ any, r *mcp.UnsubscribeRequest, _ *mcp.EmptyResult) {
		s.subscribe(ctx, r.Params.URI, false)
	})
	s.mcp.AddResource(mcp.NewResource(eventsURI, "events",
		mcp.WithResourceDescription("Events of this session that no answer had yet. Reading takes them."), mcp.WithMIMEType("text/plain"),
	), s.readEvents)
	s.Pipeline.Events.OnArrival(func(o session.Owner) {
		for _, id := range s.subscribers.clients(o) {
			if err := s.mcp.SendNotificationToSpecificClient(id, mcp.MethodNotificationResourceUpdated, map[string]any{"uri": eventsURI}); err != nil {
				s.Log.Debug("a client could not be notified of an event", "error", err.Error())
			}
		}
	})
}

// subscribe adds or removes the client of a request.
func (s *Server) subscribe(ctx context.Context, uri string, on bool) {
	conv, client := callFrom(ctx).conv, mcpserver.ClientSessionFromContext(ctx)
	if uri == eventsURI && conv != nil && client != nil {
		s.subscribers.set(conv.session.View().Owner(), client.SessionID(), on)
	}
}

// readEvents takes the events of the client's session.
func (s *Server) readEvents(ctx context.Context, r mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	text := "[no event since the last answer]"
	if conv := callFrom(ctx).conv; conv != nil {
		if err := narrow(conv.session, r.Params.Meta); err != nil {
			return nil, err
		}
		if list, dropped := s.Pipeline.Events.Take(conv.session.View().Owner()); len(list) > 0 {
			text = event.Text(list, dropped)
		}
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: eventsURI, MIMEType: "text/plain", Text: text}}, nil
}
