package cli

import (
	"bytes"
	"strings"
	"testing"

	"mcp-toolset/internal/record/trace"
	"mcp-toolset/internal/text/terminal"
)

// TestTraceFits checks that the tables of a trace fit the terminal, and that text of a trace cannot
// control it.
func TestTraceFits(t *testing.T) {
	title := "Run \x1b[2J" + strings.Repeat("日本", 60)
	c := trace.Call{Tool: "Bash\u202e", Title: title, Lane: strings.Repeat("lane", 30), Ran: 1_500_000, Waited: 2000, Stage: "queued"}
	s := &trace.Summary{
		Calls: 1, Tools: []trace.ToolSummary{{Tool: strings.Repeat("T", 200), Calls: 1}}, Lanes: []trace.LaneSummary{{Lane: c.Lane}},
		Slowest: []trace.Call{c}, Waited: []trace.Call{c}, Ended: []trace.Call{c}, Open: []trace.Call{c},
	}
	var b bytes.Buffer
	printTrace(&b, screen{width: 80}, s)
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		if n := terminal.Columns(line); n > 80 || strings.ContainsAny(line, "\x1b\u202e") {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if want := "1.5 s    Bash\\u202e  Run \\x1b[2J"; !strings.Contains(b.String(), want) {
		t.Errorf("not %s in\n%s", want, &b)
	}
}
