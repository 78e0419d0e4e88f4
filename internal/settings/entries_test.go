package settings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func entries(t *testing.T, s *Settings) string {
	t.Helper()
	var b strings.Builder
	for _, e := range s.Entries() {
		if e.Meaning == "" {
			t.Errorf("%s has no meaning", e.Key)
		}
		fmt.Fprintf(&b, "%s %s = %s", e.Origin, e.Key, e.Value)
		if e.Unused != "" {
			fmt.Fprintf(&b, " (%s)", e.Unused)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func parsed(t *testing.T, source, text string) *Settings {
	t.Helper()
	s, err := Parse([]byte(text), source, "/r")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEntries checks that entries have all values with their lines, except secrets.
func TestEntries(t *testing.T) {
	s := parsed(t, "f", `{
"$schema": "x", "unknown": ["x"],
"permissions": {"deny": ["Read(./x)",
  "Bash"], "defaultMode": "plan", "disableBypassPermissionsMode": ["x"]},
"features": {"a": true},
"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "secret"}]}, {"hooks": []}]},
"classifier": {"command": ["secret"], "timeout": 3, "second": {"url": "http://127.0.0.1/secret"}},
"reminder": {"exempt": ["m"]},
"mcpServers": {"a.b": {"command": "prog", "args": ["secret"], "env": {"NAME": "secret"}, "eager": true},
  "c": {"url": "https://secret/", "headers": {"Authorization": "secret"}}},
"deniedMcpServers": ["x", {"serverCommand": ["secret"]}], "allowedMcpServers": [{"serverUrl": "https://secret"}]}`)
	const want = `f:3 permissions.deny = "Read(./x)"
f:4 permissions.deny = "Bash"
f:4 permissions.defaultMode = "plan"
f:5 features.a = true
f:6 hooks.PreToolUse = "Bash": 1 command, not shown
f:6 hooks.PreToolUse = all tools: 0 commands, not shown
f:7 classifier.command = 
f:7 classifier.timeout = 3
f:7 classifier.second.url = 
f:8 reminder.exempt = "m"
f:9 mcpServers.a.b.command = "prog"
f:9 mcpServers.a.b.args = 
f:9 mcpServers.a.b.env = "NAME", value not shown
f:9 mcpServers.a.b.eager = true
f:10 mcpServers.c.url = 
f:10 mcpServers.c.headers = "Authorization", value not shown
f:11 deniedMcpServers = "x"
f:11 deniedMcpServers = 
f:11 allowedMcpServers = 
`
	if diff := cmp.Diff(want, entries(t, s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEntriesMerged checks which entries of several files have an effect: what Merge makes of them.
func TestEntriesMerged(t *testing.T) {
	a := parsed(t, "a", `{"permissions": {"deny": ["A"], "defaultMode": "plan"}, "features": {"x": true}, "hooksFailClosed": false, "taskList": "a",
"mcpServers": {"s": {"command": "a"}, "s.x": {"command": "a"}}, "classifier": {"command": ["a"]}, "env": {"scrub": ["A"]}, "upstream": {"pin": false}}`)
	b := parsed(t, "b", `{"permissions": {"deny": ["B"], "allow": ["Read"], "defaultMode": "manual"}, "features": {"x": false, "y": true}, "hooksFailClosed": true, "taskList": "b",
"mcpServers": {"s": {"command": "b", "eager": true}, "s.y": {"command": "b"}}, "classifier": {"timeout": 3, "url": "http://127.0.0.1"}, "env": {"scrub": ["B"]}, "upstream": {"pin": true}, "deniedMcpServers": ["d"]}`)
	const overrides = " (a more authoritative file overrides it)"
	const rest = `b:1 permissions.deny = "B"
b:1 permissions.allow = "Read"
b:1 permissions.defaultMode = "manual"` + overrides + `
b:1 features.x = false` + overrides + `
b:1 features.y = true
b:1 hooksFailClosed = true
b:1 taskList = "b"` + overrides + `
b:2 mcpServers.s.command = "b"` + overrides + `
b:2 mcpServers.s.eager = true` + overrides + `
b:2 mcpServers.s.y.command = "b"
b:2 classifier.timeout = 3` + overrides + `
b:2 classifier.url = ` + overrides + `
b:2 env.scrub = "B"
b:2 upstream.pin = true` + overrides + `
b:2 deniedMcpServers = "d"
`
	const want = `a:1 permissions.deny = "A"
a:1 permissions.defaultMode = "plan"
a:1 features.x = true
a:1 hooksFailClosed = false (another file sets true)
a:1 taskList = "a"
a:2 mcpServers.s.command = "a"
a:2 mcpServers.s.x.command = "a"
a:2 classifier.command = 
a:2 env.scrub = "A"
a:2 upstream.pin = false
` + rest
	m := Merge([]*Settings{a, b})
	if diff := cmp.Diff(want, entries(t, m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if m.Mode() != "plan" || !m.HooksFailClosed() || m.TaskList() != "a" || m.UpstreamPin() || !m.Features()["x"] || len(m.Upstreams()) != 3 {
		t.Error("the entries differ from what Merge makes")
	}
	tight := entries(t, b.Tightened())
	for line := range strings.Lines(tight) {
		holds := strings.Contains(line, "permissions.deny") || strings.Contains(line, "deniedMcpServers") || strings.Contains(line, "pin = true")
		if strings.Contains(line, "(the project is not trusted)") == holds {
			t.Error(line)
		}
	}
	if strings.Count(tight, "\n") != strings.Count(rest, "\n") {
		t.Errorf("some entries are missing:\n%s", tight)
	}
}
