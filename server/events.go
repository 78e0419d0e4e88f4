package server

// The events of a session as a resource, for clients that use resources.

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

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
	of map[session.Owner]map[string]func() // functions that notify, by client
}

// add adds a client. A nil notify removes it.
func (s *subscribers) add(o session.Owner, client string, notify func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if notify == nil {
		if delete(s.of[o], client); len(s.of[o]) == 0 {
			delete(s.of, o)
		}
		return
	}
	if s.of[o] == nil {
		s.of[o] = map[string]func(){}
	}
	s.of[o][client] = notify
}

// forget removes all clients of an owner that has ended.
func (s *subscribers) forget(o session.Owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, o)
}

// has reports whether a client of an owner is notified.
func (s *subscribers) has(o session.Owner) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.of[o]) > 0
}

// notify notifies the clients of an owner.
func (s *subscribers) notify(o session.Owner) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.of[o]))
	s.mu.Unlock()
	for _, notify := range all {
		notify()
	}
}

// Notifications of an event. The list changes with the time of the last event.
var (
	eventsUpdated = mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
		Method: mcp.MethodNotificationResourceUpdated,
		Params: mcp.NotificationParams{AdditionalFields: map[string]any{"uri": eventsURI}},
	}}
	resourcesChanged = mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
		Method: mcp.MethodNotificationResourcesListChanged,
	}}
)

// offerEvents adds the resource to the server. Up to protocol 2025-11-25 all clients are notified
// that the list has changed, and those that subscribe also of the resource. From 2026-07-28 on a
// listen stream names what it wants.
func (s *Server) offerEvents(hooks *mcpserver.Hooks) {
	hooks.AddAfterInitialize(func(ctx context.Context, _ any, _ *mcp.InitializeRequest, _ *mcp.InitializeResult) {
		s.watch(ctx, "list", resourcesChanged, true)
	})
	hooks.AddAfterSubscribe(func(ctx context.Context, _ any, r *mcp.SubscribeRequest, _ *mcp.EmptyResult) {
		if r.Params.URI == eventsURI {
			s.watch(ctx, "resource", eventsUpdated, true)
		}
	})
	hooks.AddAfterUnsubscribe(func(ctx context.Context, _ any, r *mcp.UnsubscribeRequest, _ *mcp.EmptyResult) {
		if r.Params.URI == eventsURI {
			s.watch(ctx, "resource", eventsUpdated, false)
		}
	})
	hooks.AddBeforeSubscriptionsListen(func(ctx context.Context, _ any, r *mcp.SubscriptionsListenRequest) { s.listenToEvents(ctx, r, true) })
	hooks.AddAfterSubscriptionsListen(func(ctx context.Context, _ any, r *mcp.SubscriptionsListenRequest, _ *mcp.SubscriptionsListenResult) {
		s.listenToEvents(ctx, r, false)
	})
	hooks.AddAfterListResources(func(ctx context.Context, _ any, _ *mcp.ListResourcesRequest, r *mcp.ListResourcesResult) {
		conv := callFrom(ctx).conv
		if conv == nil {
			return
		}
		if last := s.Pipeline.Events.Last(conv.session.View().Owner()); !last.IsZero() {
			for i := range r.Resources {
				if r.Resources[i].URI != eventsURI {
					continue
				}
				r.Resources[i].Annotations = &mcp.Annotations{LastModified: last.UTC().Format(time.RFC3339)}
			}
		}
	})
	s.mcp.AddResource(mcp.NewResource(eventsURI, "events",
		mcp.WithResourceDescription("Events of this session that no answer had yet. Reading takes them."), mcp.WithMIMEType("text/plain"),
	), s.readEvents)
	s.Pipeline.Events.OnArrival(s.subscribers.notify)
}

// watch adds or removes a notification of the client of a request. If an event waits, the client is
// notified at once.
func (s *Server) watch(ctx context.Context, kind string, n mcp.JSONRPCNotification, on bool) {
	conv, client := callFrom(ctx).conv, mcpserver.ClientSessionFromContext(ctx)
	if conv == nil || client == nil {
		return
	}
	id, owner := client.SessionID(), conv.session.View().Owner()
	if !on {
		s.subscribers.add(owner, kind+" "+id, nil)
		return
	}
	notify := func() {
		if err := s.mcp.SendNotificationToSpecificClient(id, n.Method, n.Params.AdditionalFields); err != nil {
			s.Log.Debug("a client could not be notified of an event", "error", err.Error())
		}
	}
	s.subscribers.add(owner, kind+" "+id, notify)
	if s.Pipeline.Events.Pending(owner) {
		notify()
	}
}

// acknowledged is the time for the library to acknowledge a listen stream, which comes first.
const acknowledged = 100 * time.Millisecond

// listenToEvents adds or removes a listen stream that asks for events. The stream has a session
// of its own in the library, which is not found by its id.
func (s *Server) listenToEvents(ctx context.Context, r *mcp.SubscriptionsListenRequest, on bool) {
	var all []mcp.JSONRPCNotification
	if r.Params.Notifications.ResourcesListChanged {
		all = append(all, resourcesChanged)
	}
	if slices.Contains(r.Params.Notifications.ResourceSubscriptions, eventsURI) {
		all = append(all, eventsUpdated)
	}
	conv, client := callFrom(ctx).conv, mcpserver.ClientSessionFromContext(ctx)
	if len(all) == 0 || conv == nil || client == nil || narrow(conv.session, r.Params.Meta) != nil {
		return
	}
	notify := func() {
		for _, n := range all {
			select {
			case client.NotificationChannel() <- n:
			default: // the client does not read
			}
		}
	}
	if !on {
		notify = nil
	}
	owner := conv.session.View().Owner()
	s.subscribers.add(owner, fmt.Sprintf("listen %p", client), notify)
	if on && s.Pipeline.Events.Pending(owner) {
		time.AfterFunc(acknowledged, notify)
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
