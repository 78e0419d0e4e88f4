package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every state of a client has its status and the next step.
func TestCheckClients(t *testing.T) {
	home := homeFolder(t)
	put := func(path, text string) {
		t.Helper()
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	self, copied := filepath.Join(home, "bin", "mcp-toolset"), filepath.Join(home, "old", "mcp-toolset")
	put("bin/mcp-toolset", "")
	put("old/mcp-toolset", "")
	starts := func(program string) string {
		return fmt.Sprintf(`{"mcpServers": {"toolset": {"command": %q, "args": ["stdio"]}}}`, program)
	}
	const cursor, lms = ".cursor/mcp.json", ".lmstudio/mcp.json"
	for _, tc := range []struct {
		name         string
		files        map[string]string
		status, want string
		welcome      string
	}{
		{"none", nil, checkOK, "none found; mcp-toolset install CLIENT DIR adds this server to one",
			"  clients  none found on this system\n  next     mcp-toolset install CLIENT DIR, where CLIENT is claude-code, claude-desktop, cline,\n           codex, "},
		{"not set", map[string]string{cursor: `{}`, lms: `{}`}, checkWarn, "found, not set: cursor, lm-studio; next: mcp-toolset install cursor DIR",
			"  clients  found, not set: cursor, lm-studio\n  next     mcp-toolset install cursor DIR\n\n"},
		{"set", map[string]string{cursor: starts(self), lms: `{}`}, checkOK, "set in cursor; not set in lm-studio",
			"  clients  set in cursor; not set in lm-studio\n  next     Cursor: switch the server on in Cursor Settings, MCP\n           If the client does not show it: mcp-toolset doctor\n\n"},
		{"in the project", map[string]string{"app/" + cursor: starts(self), cursor: `{}`}, checkOK, "set in cursor (project)", "  next     Cursor: "},
		{"in both", map[string]string{"app/" + cursor: starts(self), cursor: starts(self)}, checkOK, "set in cursor (project), cursor", "Cursor Settings, MCP\n           If"},
		{"of the project, not set", map[string]string{"app/" + cursor: `{}`}, checkOK, "none found; mcp-toolset install CLIENT DIR adds this server to one", ""},
		{"by npx", map[string]string{cursor: `{"mcpServers": {"toolset": {"command": "npx", "args": ["-y", "mcp-toolset"]}}}`}, checkOK, "set in cursor", ""},
		{"over HTTP", map[string]string{cursor: `{"mcpServers": {"toolset": {"url": "http://127.0.0.1:8808/mcp"}}}`}, checkOK, "set in cursor", ""},
		{"over HTTP, not recognized", map[string]string{cursor: `{"mcpServers": {"toolset": {"url": "https://tools.example/mcp"}}}`}, checkOK, "set in cursor (reaches https://tools.example/mcp)", ""},
		{"over HTTP in the project", map[string]string{"app/" + cursor: `{"mcpServers": {"toolset": {"url": "https://tools.example/mcp"}}}`}, checkOK, "set in cursor (project, reaches https://tools.example/mcp)", ""},
		{"over HTTP by another name", map[string]string{cursor: `{"mcpServers": {"b": {"url": "https://tools.example/mcp", "headers": {"Authorization": "Bearer ${env:MCP_TOOLSET_TOKEN}"}}, "a": {"url": "http://127.0.0.1:8808/mcp"}, "c": {"url": "https://other.example/mcp"}}}`}, checkOK,
			"set in cursor as a, cursor as b", ""},
		{"over HTTP, not recognized, beside another name", map[string]string{cursor: `{"mcpServers": {"toolset": {"url": "https://tools.example/mcp"}, "a": {"command": "mcp-toolset"}}}`}, checkOK,
			"set in cursor as a, cursor (reaches https://tools.example/mcp)", ""},
		{"neither program nor URL", map[string]string{cursor: `{"mcpServers": {"toolset": {}}}`}, checkWarn, "toolset in cursor is another server; next: mcp-toolset install cursor --name NAME DIR", ""},
		{"no program", map[string]string{cursor: starts(self), lms: starts(self + "-1/mcp-toolset")}, checkFail,
			"lm-studio starts HOME/bin/mcp-toolset-1/mcp-toolset, which does not exist; next: mcp-toolset install lm-studio DIR", "\n  next     mcp-toolset install lm-studio DIR\n"},
		{"no program in the project", map[string]string{"app/" + cursor: starts(filepath.Join(home, "gone", "mcp-toolset"))}, checkWarn,
			"cursor (project) starts HOME/gone/mcp-toolset, which does not exist; next: mcp-toolset install cursor --project DIR", ""},
		{"another copy", map[string]string{cursor: starts(copied)}, checkWarn,
			"cursor starts another copy, HOME/old/mcp-toolset; next: run doctor of that one, or mcp-toolset install cursor DIR to start this one", ""},
		{"another server", map[string]string{cursor: starts("/bin/other")}, checkWarn, "toolset in cursor is another server; next: mcp-toolset install cursor --name NAME DIR", ""},
		{"by another name", map[string]string{cursor: strings.Replace(starts(self), "toolset", "my tools", 1), lms: `{}`}, checkOK, "set in cursor as my tools; not set in lm-studio", "  clients  set in cursor as my tools; not set in lm-studio\n"},
		{"by another name beside another server", map[string]string{cursor: `{"mcpServers": {"toolset": {"command": "/bin/other"}, "b": {"command": "mcp-toolset"}, "a": {"command": "npx", "args": ["mcp-toolset@1"]}}}`}, checkOK,
			"set in cursor as a, cursor as b", ""},
		{"no program by another name", map[string]string{lms: strings.Replace(starts(self+"-1/mcp-toolset"), "toolset", "tools", 1)}, checkFail,
			"lm-studio as tools starts HOME/bin/mcp-toolset-1/mcp-toolset, which does not exist; next: mcp-toolset install lm-studio --name tools DIR", ""},
		{"two problems", map[string]string{cursor: "{\n!", lms: starts(self + "-1/mcp-toolset")}, checkFail,
			`HOME/.cursor/mcp.json: line 2, column 1: invalid character '!' at start of value; lm-studio starts HOME/bin/mcp-toolset-1/mcp-toolset, which does not exist; next: mcp-toolset install lm-studio DIR`, ""},
	} {
		for _, file := range []string{cursor, lms, "app/" + cursor} {
			if err := os.RemoveAll(filepath.Join(home, filepath.Dir(file))); err != nil {
				t.Fatal(err)
			}
		}
		for file, text := range tc.files {
			put(file, text)
		}
		h := host(t, map[string]string{})
		h.Home = home
		in := newInstaller(h)
		in.name, in.binary = "toolset", func() (string, error) { return self, nil }
		in.system.Look = func(string) bool { return false }
		list := in.findClients(filepath.Join(home, "app"))
		c := checkClients(list)
		got := clean(c.Detail, home)
		if c.Next != "" {
			got += "; next: " + c.Next
		}
		if c.Status != tc.status || got != tc.want {
			t.Errorf("%s: %s: %s", tc.name, c.Status, got)
		}
		if text := nextStep(list, helpWidth); !strings.Contains(clean(text, home), tc.welcome) || !strings.HasSuffix(text, welcomeCommands) {
			t.Errorf("%s: the welcome is\n%s", tc.name, text)
		}
	}
}
