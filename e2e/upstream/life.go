// The special tools that end, wait, or change the lists of the server.

package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func living(s *server.MCPServer, o options) []special {
	meeting := newMeeting()
	return []special{
		{name: "crash", description: "Ends the server in the middle of the call.", call: func(context.Context, mcp.CallToolRequest) (result, error) {
			fmt.Fprintln(os.Stderr, "panic: out of \x1b[31mluck")
			os.Exit(3)
			return nil, nil
		}},
		{name: "hang", description: "Does not answer until it is cancelled; with deaf not even then.",
			schema: `{"type":"object","properties":{"deaf":{"type":"boolean"}}}`, hints: hints{ReadOnlyHint: new(true)}, call: hang(o.cancelled)},
		{name: "slow", description: "Says three times how far it is, and answers when there is the file.",
			schema: `{"type":"object","properties":{"until":{"type":"string"}},"required":["until"]}`, hints: hints{ReadOnlyHint: new(true)}, call: slow(s)},
		{name: "readonly", description: "Says that it only reads. Answers when so many calls of it are there at once.",
			schema: `{"type":"object","properties":{"together":{"type":"integer"}}}`, hints: hints{ReadOnlyHint: new(true)},
			call: func(ctx context.Context, r mcp.CallToolRequest) (result, error) {
				if !meeting.wait(ctx, r.GetInt("together", 1)) {
					return mcp.NewToolResultError("it was alone"), nil
				}
				return mcp.NewToolResultText("readonly was called"), nil
			}},
		{name: "change", description: "Adds a tool to the server's list.", call: func(context.Context, mcp.CallToolRequest) (result, error) {
			addTool(s, special{name: "later", description: "Came while the server ran.", hints: hints{DestructiveHint: new(false)}, call: answers(text("later was called"))})
			return mcp.NewToolResultText("changed"), nil
		}},
	}
}

// hang waits until its call is cancelled, and records that in a file.
func hang(cancelled string) func(context.Context, mcp.CallToolRequest) (result, error) {
	return func(ctx context.Context, r mcp.CallToolRequest) (result, error) {
		if r.GetBool("deaf", false) {
			select {}
		}
		// From here on it can be cancelled: the library may lose an earlier cancellation.
		if cancelled != "" {
			if err := addLine(cancelled+".begun", "begun"); err != nil {
				return nil, err
			}
		}
		<-ctx.Done()
		if cancelled != "" {
			if err := addLine(cancelled, "cancelled"); err != nil {
				return nil, err
			}
		}
		return nil, ctx.Err()
	}
}

func slow(s *server.MCPServer) func(context.Context, mcp.CallToolRequest) (result, error) {
	return func(ctx context.Context, r mcp.CallToolRequest) (result, error) {
		for i := range 3 {
			if r.Params.Meta == nil || r.Params.Meta.ProgressToken == nil {
				break
			}
			if err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
				"progressToken": r.Params.Meta.ProgressToken, "progress": i + 1, "total": 3, "message": fmt.Sprintf("step %d", i+1),
			}); err != nil {
				return nil, err
			}
		}
		for !exists(r.GetString("until", "")) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(pace):
			}
		}
		return mcp.NewToolResultText("slow is done"), nil
	}
}

// meeting lets calls wait for one another.
type meeting struct {
	mu   sync.Mutex
	here int
	full chan struct{} // closed when enough calls have arrived
}

// alone is the timeout of a call that waits for others; only a failure reaches it.
const alone = 15 * time.Second

func newMeeting() *meeting { return &meeting{full: make(chan struct{})} }

// wait reports whether n calls were waiting at once.
func (m *meeting) wait(ctx context.Context, n int) bool {
	m.mu.Lock()
	m.here++
	full := m.full
	if m.here >= n {
		close(m.full)
		m.here, m.full = 0, make(chan struct{})
	}
	m.mu.Unlock()
	select {
	case <-full:
		return true
	case <-ctx.Done():
	case <-time.After(alone):
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full == full {
		m.here--
	}
	return false
}
