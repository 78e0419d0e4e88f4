package server

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/internal/host"
	"mcp-toolset/tools"
)

// The library knows only the carrier, so the result of tools/list is made here
// from the registry.

// shown caches the definitions of tools in tools/list, by tool and deferral.
type shown struct {
	mu sync.Mutex
	of map[shownKey]mcp.Tool
}

type shownKey struct {
	tool     *tools.Tool
	deferral tools.Deferral
}

// onceWait is how long the list of a client that asks for it once waits for upstream servers whose
// tools are not known.
const onceWait = 15 * time.Second

// list completes the answer to tools/list.
func (s *Server) list(ctx context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
	s.Pipeline.CurrentRules()
	s.Skills.Now() // a change of the skills changes a tool
	how, to := s.offered(ctx), host.Of(clientName(ctx))
	if s.WakeListed != nil {
		var most time.Duration
		if to.ListsOnce {
			most = onceWait
		}
		s.WakeListed(ctx, !how.Searches(), most)
	}
	var loaded func(string) bool
	if conv := callFrom(ctx).conv; conv != nil {
		conv.offer.fix()
		if how == tools.DeferLegacyList && !mcpserver.IsModernRequest(ctx) {
			loaded = conv.session.View().Loaded
		}
	}
	listed := slices.DeleteFunc(s.Registry.ListedFor(s.profile(ctx), how, loaded), func(t *tools.Tool) bool {
		return s.Registry.Leaves(t, to.Has)
	})
	list, err := s.definitions(listed, how)
	if err != nil { // cannot happen: built-in tools were checked in New, others cannot fail
		s.Log.Error("a tool cannot be listed", "error", err.Error())
	}
	if showsViews(ctx) && err == nil {
		list = withViews(list, listed)
	}
	for i := range list { // s.definitions makes a list of its own
		list[i].Name = to.Prefix + list[i].Name
	}
	result.Tools, result.NextCursor = list, ""
	s.settle.listed()
}

// clientName returns the name of the client of a request, as it sent it, or "".
func clientName(ctx context.Context) string {
	if info := mcpserver.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientInfo != nil {
		return info.ClientInfo.Name
	}
	if conv := callFrom(ctx).conv; conv != nil {
		return conv.session.View().Client
	}
	return ""
}

// definitions returns the definitions of tools in tools/list for a deferral.
func (s *Server) definitions(list []*tools.Tool, how tools.Deferral) ([]mcp.Tool, error) {
	s.shown.mu.Lock()
	defer s.shown.mu.Unlock()
	if known := len(s.shown.of); known > 4*len(s.Registry.Tools()) || s.shown.of == nil {
		s.shown.of = map[shownKey]mcp.Tool{} // most are of removed tools
	}
	out := make([]mcp.Tool, 0, len(list))
	start := s.Registry.FromStart()
	for _, t := range list {
		def, ok := s.shown.of[shownKey{t, how}]
		if !ok {
			var err error
			load := how.Searches() || start(t) // with search, a listed tool has been found
			if def, err = definition(t, s.Structured, how != tools.DeferOff, load); err != nil {
				return out, err
			}
			s.shown.of[shownKey{t, how}] = def
		}
		out = append(out, def)
	}
	return out, nil
}

// changes reports whether the result of tools/list can change.
func (s *Server) changes() bool {
	return s.Registry.Deferral() == tools.DeferLegacyList || s.WakeListed != nil || s.Skills != nil || s.Registry.Later()
}

// notifyChanged notifies clients if a list has changed. With deferral by search,
// most upstream tools are not on a list.
func (s *Server) notifyChanged() {
	if s.last.update(s.Registry) {
		s.settle.later(func() { s.mcp.SendNotificationToAllClients(string(mcp.MethodNotificationToolsListChanged), nil) })
	}
}

// settleTime is the time after an answer to tools/list in which clients are not notified of a
// change: Claude Code misses a notification that follows its list within some milliseconds.
const settleTime = 500 * time.Millisecond

// settling delays notifications until the last list has settled.
type settling struct {
	mu    sync.Mutex
	until time.Time
	timer *time.Timer // nil: no notification waits
}

// listed records an answer to tools/list.
func (s *settling) listed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Now().Add(settleTime)
}

// later calls notify, once for all changes in the time that it waits.
func (s *settling) later(notify func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := time.Until(s.until)
	switch {
	case s.timer != nil:
	case wait <= 0:
		notify()
	default:
		s.timer = time.AfterFunc(wait, func() {
			s.mu.Lock()
			s.timer = nil
			s.mu.Unlock()
			notify()
		})
	}
}

// notifyLoaded registers a notification for the client of a session when its list
// grows. That happens only if found tools are added to the list.
func (s *Server) notifyLoaded(ctx context.Context, conv *conversation) {
	if s.Registry.Deferral() != tools.DeferLegacyList || mcpserver.IsModernRequest(ctx) {
		return
	}
	client := mcpserver.ClientSessionFromContext(ctx)
	if client == nil {
		return
	}
	id := client.SessionID()
	conv.session.OnLoaded(func() {
		if err := s.mcp.SendNotificationToSpecificClient(id, string(mcp.MethodNotificationToolsListChanged), nil); err != nil {
			s.Log.Debug("a client could not be notified that its list has grown", "error", err.Error())
		}
	})
}
