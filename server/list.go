package server

import (
	"context"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/tools"
)

// This file is tools/list. The library knows the carrier only; what a client is
// shown is made here, from the registry as it is.

// shown are definitions as tools/list has them, made once for each tool.
type shown struct {
	mu sync.Mutex
	of map[*tools.Tool]mcp.Tool
}

// told is what was listed when clients were last told of a change.
type told struct {
	mu   sync.Mutex
	list []*tools.Tool
}

// list fills in the answer to tools/list.
func (s *Server) list(ctx context.Context, _ any, _ *mcp.ListToolsRequest, result *mcp.ListToolsResult) {
	if s.WakeListed != nil {
		s.WakeListed(!s.Registry.Deferral().Searches())
	}
	var loaded func(string) bool
	if conv := callFrom(ctx).conv; conv != nil && s.Registry.Deferral() == tools.DeferLegacyList && !mcpserver.IsModernRequest(ctx) {
		loaded = conv.session.View().Loaded
	}
	list, err := s.definitions(s.Registry.Listed(loaded))
	if err != nil { // never: those of our own were made at the start, and others cannot fail
		s.Log.Error("a tool cannot be listed", "error", err.Error())
	}
	result.Tools, result.NextCursor = list, ""
}

// definitions are tools as tools/list shows them.
func (s *Server) definitions(list []*tools.Tool) ([]mcp.Tool, error) {
	s.shown.mu.Lock()
	defer s.shown.mu.Unlock()
	if known := len(s.shown.of); known > 2*len(s.Registry.Tools()) || s.shown.of == nil {
		s.shown.of = map[*tools.Tool]mcp.Tool{} // most are of tools that are gone
	}
	out := make([]mcp.Tool, 0, len(list))
	start, how := s.Registry.FromStart(), s.Registry.Deferral()
	for _, t := range list {
		def, ok := s.shown.of[t]
		if !ok {
			var err error
			load := how.Searches() || start(t) // what is listed where tools are searched for has been found
			if def, err = definition(t, s.Structured, how != tools.DeferOff, load); err != nil {
				return out, err
			}
			s.shown.of[t] = def
		}
		out = append(out, def)
	}
	return out, nil
}

// changes reports whether what tools/list shows can become another.
func (s *Server) changes() bool {
	return s.Registry.Deferral() == tools.DeferLegacyList || s.WakeListed != nil || s.Registry.Later()
}

// tellChanged has all clients told when what they are shown has become another:
// where tools are searched for, those of few servers are.
func (s *Server) tellChanged() {
	s.last.mu.Lock()
	defer s.last.mu.Unlock()
	now := s.Registry.Listed(nil)
	if !slices.Equal(s.last.list, now) {
		s.last.list = now
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
