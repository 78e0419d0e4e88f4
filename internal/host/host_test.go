package host

import "testing"

// TestOf checks by which names a client is known.
func TestOf(t *testing.T) {
	for sent, want := range map[string]string{
		"claude-code": "claude-code", "Claude-Code": "claude-code", "claude-code-2": "", "codex-mcp-client": "codex", "codex": "",
		"gemini-cli-mcp-client": "gemini-cli", "gemini-cli-mcp-client-toolset": "gemini-cli", "qwen-cli-mcp-client-x": "qwen-code",
		"qwen-cli-mcp-client": "", "opencode": "opencode", "@cline/core": "cline", "continue-cli-client": "continue", "": "", "*": "",
	} {
		if got := Of(sent).Name; got != want {
			t.Errorf("%q is %q, want %q", sent, got, want)
		}
	}
	for _, h := range Table {
		if Named(h.Name).Sends != h.Sends || h.Tried == "" {
			t.Errorf("%+v", h)
		}
	}
	if Named("cursor").Name != "" {
		t.Error("a client that was not tried is known")
	}
}
