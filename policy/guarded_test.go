package policy

import "testing"

// TestGuarded checks that no tool can change settings, whatever allows it, and that
// they can be read like other files.
func TestGuarded(t *testing.T) {
	cfg := world(ruleset(entry{"allow", "Edit(//**)"}, entry{"allow", "Edit(.mcp-toolset/**)"}, entry{"allow", "Write"}, entry{"allow", "Bash"}))
	cfg.Guarded = []string{"/ws/conf/s.json", "/home/u/.config/mcp-toolset", "relative"}
	cfg.Mode = ModeBypass
	p := New(cfg)
	for _, c := range []struct{ call, path string }{
		{"Write /ws/conf/s.json", "/ws/conf/s.json"},
		{"Edit /ws/conf/S.JSON", "/ws/conf/S.JSON"},
		{"Write /ws/link -> /ws/conf/s.json", "/ws/conf/s.json, where /ws/link leads,"},
		{"Write /ws/conf/s.json -> /ws/elsewhere", "/ws/conf/s.json"},
		{"Write /home/u/.config/mcp-toolset", "/home/u/.config/mcp-toolset"},
		{"Write /ws/.mcp-toolset/settings.json", "/ws/.mcp-toolset/settings.json"},
		{"Write /ws/a/b/.MCP-toolset/Settings.json", "/ws/a/b/.MCP-toolset/Settings.json"},
		{"Write /ws/.mcp-toolset", "/ws/.mcp-toolset"},
		{"NotebookEdit /ws/l -> /lib/.mcp-toolset/settings.json", "/lib/.mcp-toolset/settings.json, where /ws/l leads,"},
		{"Write /ws/conf/s.json2", ""},
		{"Write /ws/conf", ""},
		{"Write /ws/settings.json", ""},
		{"Write /ws/.mcp-toolset/notes.md", ""},
		{"Read /ws/conf/s.json", ""},
		{"Read /ws/.mcp-toolset/settings.json", ""},
	} {
		req := request(c.call)
		for _, d := range []Decision{p.Decide(req), p.CheckPath(req.Tool, nil, *req.Target, req.Dir, nil)} {
			if (d.Behavior == Deny) != (c.path != "") {
				t.Errorf("%s: %s (%s)", c.call, d.Behavior, d.Reason)
			}
			if want := c.path + " holds settings of this server or is run by its hooks, which no tool changes"; c.path != "" && (d.Reason != want || d.Layer != LayerPath) {
				t.Errorf("%s: %s\nwant %s", c.call, d.Reason, want)
			}
		}
		if req.Target.Access == Read {
			continue
		}
		d := p.Decide(Request{Tool: "Bash", Dir: "/ws", Parts: &Parts{List: []Part{{Text: "x", Name: "x", Allowable: true}}, Targets: []Target{*req.Target}}})
		if (d.Behavior == Deny) != (c.path != "") {
			t.Errorf("a command on %s: %s (%s)", c.call, d.Behavior, d.Reason)
		}
	}
}
