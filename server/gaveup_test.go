package server

import (
	"errors"
	"testing"

	"mcp-toolset/tools"
)

// TestGaveUp checks which reasons of a cancel mean that the client's timeout has passed.
func TestGaveUp(t *testing.T) {
	for reason, want := range map[string]bool{
		`"McpError: MCP error -32001: Request timed out"`: true,
		`"Request timeout"`:                        true,
		`"Maximum total timeout exceeded"`:         true,
		`"TimeoutError: The operation timed out."`: true,
		`"context deadline exceeded"`:              true,
		`"AbortError: This operation was aborted"`: false,
		`"User requested cancellation"`:            false,
		`""`:                                       false,
		`null`:                                     false,
		`5`:                                        false,
	} {
		m, bad := readMessage([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":` + reason + `}}`))
		if bad != nil || errors.Is(m.cause, tools.ErrGaveUp) != want || m.cause == nil {
			t.Errorf("%s: %v, %v", reason, m.cause, bad)
		}
	}
}
