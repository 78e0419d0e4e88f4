//go:build !unix && !windows

package approval

import (
	"encoding/json"
	"errors"
	"log/slog"
	"mcp-toolset/internal/consent/socket"
	"testing"
	"time"
)

func TestNotOffered(t *testing.T) {
	s := New(Config{Folder: t.TempDir(), Server: "/work", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if _, err := s.Pend(Request{Tool: "T", Input: json.RawMessage("{}")}); !errors.Is(err, socket.ErrNotOffered) {
		t.Error(err)
	}
	if _, err := List(t.Context(), s.config.Folder, 0); !errors.Is(err, socket.ErrNotOffered) {
		t.Error(err)
	}
}
