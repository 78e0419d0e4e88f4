package server

import (
	"context"
	"log/slog"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
)

// mcpLevels maps the protocol's levels to ours, least severe first.
var mcpLevels = []struct {
	name  mcp.LoggingLevel
	level slog.Level
}{
	{mcp.LoggingLevelDebug, slog.LevelDebug},
	{mcp.LoggingLevelInfo, slog.LevelInfo},
	{mcp.LoggingLevelNotice, slog.LevelInfo + 2},
	{mcp.LoggingLevelWarning, slog.LevelWarn},
	{mcp.LoggingLevelError, slog.LevelError},
	{mcp.LoggingLevelCritical, slog.LevelError + 4},
	{mcp.LoggingLevelAlert, slog.LevelError + 6},
	{mcp.LoggingLevelEmergency, slog.LevelError + 8},
}

// clientHandler sends the log records of one call to its client, with message
// and attributes. The attribute stack is sent only to the server's log.
type clientHandler struct {
	notify func(method string, params any) error
	level  slog.Level
	attrs  []slog.Attr
}

func (h *clientHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level }

func (h *clientHandler) Handle(_ context.Context, r slog.Record) error {
	data := map[string]any{"message": r.Message}
	add := func(a slog.Attr) bool {
		if a.Key != "stack" {
			data[a.Key] = a.Value.String()
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	name := mcp.LoggingLevelDebug
	for _, l := range mcpLevels {
		if r.Level >= l.level {
			name = l.name
		}
	}
	return h.notify("notifications/message", map[string]any{"level": name, "logger": "mcp-toolset", "data": data})
}

func (h *clientHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.attrs = append(slices.Clip(h.attrs), attrs...)
	return &c
}

// WithGroup returns h, so that attributes stay flat: a client shows a line.
func (h *clientHandler) WithGroup(string) slog.Handler { return h }

// teeHandler passes records to two handlers.
type teeHandler struct{ a, b slog.Handler }

func (t *teeHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return t.a.Enabled(ctx, l) || t.b.Enabled(ctx, l)
}

func (t *teeHandler) Handle(ctx context.Context, r slog.Record) error {
	for _, h := range []slog.Handler{t.a, t.b} {
		if h.Enabled(ctx, r.Level) {
			_ = h.Handle(ctx, r.Clone()) // a failing handler must not silence the other
		}
	}
	return nil
}

func (t *teeHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return &teeHandler{t.a.WithAttrs(a), t.b.WithAttrs(a)}
}

func (t *teeHandler) WithGroup(n string) slog.Handler {
	return &teeHandler{t.a.WithGroup(n), t.b.WithGroup(n)}
}
