package server

import (
	"context"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/tools"
)

// This file is tools/list. The library knows the carrier only; what a client is
// shown is made here, from the registry as it is.

// shown are definitions as tools/list has them, made once for each tool and way
// of offering it.
type shown struct {
	mu sync.Mutex
	of map[shownKey]mcp.Tool
}

type shownKey struct {
	tool *tools.Tool
	how  tools.Deferral
}

// list fills in the answer to tools/list.
func (s *Server) list(ctx context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
	how := s.offered(ctx)
	if s.WakeListed != nil {
		s.WakeListed(!how.Searches())
	}
	var loaded func(string) bool
	if conv := callFrom(ctx).conv; conv != nil {
		conv.offer.fix()
		if how == tools.DeferLegacyList && !mcpserver.IsModernRequest(ctx) {
			loaded = conv.session.View().Loaded
		}
	}
	list, err := s.definitions(s.Registry.Listed(how, loaded), how)
	if err != nil { // never: those of our own were made at the start, and others cannot fail
		s.Log.Error("a tool cannot be listed", "error", err.Error())
	}
	result.Tools, result.NextCursor = list, ""
}

// definitions are tools as tools/list shows them where they are offered in a way.
func (s *Server) definitions(list []*tools.Tool, how tools.Deferral) ([]mcp.Tool, error) {
	s.shown.mu.Lock()
	defer s.shown.mu.Unlock()
	if known := len(s.shown.of); known > 4*len(s.Registry.Tools()) || s.shown.of == nil {
		s.shown.of = map[shownKey]mcp.Tool{} // most are of tools that are gone
	}
	out := make([]mcp.Tool, 0, len(list))
	start := s.Registry.FromStart()
	for _, t := range list {
		def, ok := s.shown.of[shownKey{t, how}]
		if !ok {
			var err error
			load := how.Searches() || start(t) // what is listed where tools are searched for has been found
			if def, err = definition(t, s.Structured, how != tools.DeferOff, load); err != nil {
				return out, err
			}
			s.shown.of[shownKey{t, how}] = def
		}
		out = append(out, def)
	}
	return out, nil
}

// changes reports whether what tools/list shows can become another.
func (s *Server) changes() bool {
	return s.Registry.Deferral() == tools.DeferLegacyList || s.WakeListed != nil || s.Registry.Later()
}

// tellChanged notifies clients of a list that has changed. Where tools are searched
// for, those of most servers are not on it.
func (s *Server) tellChanged() {
	if s.last.update(s.Registry) {
		s.mcp.SendNotificationToAllClients(string(mcp.MethodNotificationToolsListChanged), nil)
	}
}

// tellLoaded has the client of a session told when its list has grown, which is
// only where found tools join it.
func (s *Server) tellLoaded(ctx context.Context, conv *conversation) {
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
			s.Log.Debug("a client could not be told that its list has grown", "error", err.Error())
		}
	})
}
