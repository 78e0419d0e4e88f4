package server

// Events as messages of a channel. Claude Code begins a turn of the model for each, so that
// the model hears of an event while no call runs. See
// https://code.claude.com/docs/en/channels-reference.

import (
	"context"
	"strconv"
	"time"

	mcpserver "github.com/mark3labs/mcp-go/server"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/host"
)

// channelCapability is the experimental capability of a server, or a client, with a channel.
const channelCapability = "claude/channel"

// experimental returns the experimental capabilities of the server.
func (s *Server) experimental() []mcpserver.ServerOption {
	if !s.Channel {
		return nil
	}
	return []mcpserver.ServerOption{mcpserver.WithExperimental(map[string]any{channelCapability: map[string]any{}})}
}

// acceptsChannel reports whether the client shows the messages of a channel to its model.
// Claude Code declares nothing. It accepts messages only up to protocol 2025-11-25, so a server
// with a channel does not offer a later one (see accept).
func (c *stdioConn) acceptsChannel() bool {
	caps := c.client.GetClientCapabilities()
	return caps.Experimental[channelCapability] != nil || host.Of(c.client.GetClientInfo().Name).Name == "claude-code"
}

// channel sends events to the client until ctx ends. While a request is served, its answer
// will have them.
func (c *stdioConn) channel(ctx context.Context) {
	events, owner := c.s.Pipeline.Events, c.conv.session.View().Owner()
	for ctx.Err() == nil {
		if err := events.Wait(ctx, owner); err != nil { // too many calls wait
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
			continue
		}
		if left := c.wait(time.Hour, ctx.Done()); left > 0 || ctx.Err() != nil {
			continue
		}
		list, dropped := events.Take(owner)
		for _, e := range list {
			_ = c.notify("notifications/claude/channel", channelMessage(e, dropped))
			dropped = 0
		}
	}
}

// channelMessage returns the parameters of a message. Keys of meta are identifiers and values
// are strings, or the client drops them. The client adds the key source itself.
func channelMessage(e event.Event, dropped int) map[string]any {
	meta := map[string]string{"event": strconv.Itoa(e.ID), "time": e.Time.Format(time.RFC3339), "from": e.Source}
	return map[string]any{"content": event.Text([]event.Event{e}, dropped), "meta": meta}
}
