package upstream

import "testing"

// TestReserved tests which keys of _meta are not passed on.
func TestReserved(t *testing.T) {
	for key, want := range map[string]bool{
		"mcp-toolset/summary": true, " MCP-Toolset/x": true, "io.modelcontextprotocol/x": true, "modelcontextprotocol.io/x": true, "dev.mcp/x": true, "dev.mcp.tools/x": true, "tools.mcp.com/x": true, "IO.ModelContextProtocol/x": true, "mcp.dev/x": true,
		"x/y": false, "com.example/mcp": false, "com.example.mcpx/a": false, "anthropic/maxResultSizeChars": false, "mcp/x": false, "progressToken": false, "mcp-toolset": false,
	} {
		if got := reserved(key); got != want {
			t.Errorf("reserved(%q) = %v, want %v", key, got, want)
		}
	}
}
