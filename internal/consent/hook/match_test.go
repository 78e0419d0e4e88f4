package hook

import "testing"

func TestMatcher(t *testing.T) {
	for _, c := range []struct {
		matcher, tool string
		aliases       []string
		want          bool
	}{
		{"", "Read", nil, true},
		{"*", "mcp__a__b", nil, true},
		{"Read", "Read", nil, true},
		{"Read", "ReadMore", nil, false},
		{"Read", "read", nil, false},
		{"Edit|Write", "Write", nil, true},
		{"Edit|Write", "Edit|Write", nil, false},
		{"Edit|Write", "NotebookEdit", nil, false},
		{" Edit | Write,Read|", "Read", nil, true},
		{" Edit | Write,Read|", "Write", nil, true},
		{" Edit | Write,Read|", "", nil, false},
		{"mcp__my-server__x", "mcp__my-server__x", nil, true},
		{"mcp__my-server__x", "mcp__my-server__xy", nil, false},
		{"KillShell", "TaskStop", []string{"KillBash", "KillShell"}, true},
		{"Kill.*", "TaskStop", []string{"KillBash", "KillShell"}, true},
		{"BashOutput", "TaskStop", []string{"KillBash", "KillShell"}, false},
		{"mcp__.*", "mcp__a__b", nil, true},
		{"^mcp__.*", "xmcp__a__b", nil, false},
		{"^Notebook", "NotebookEdit", nil, true},
		{"mcp__.*__write.*", "mcp__fs__write_file", nil, true},
		{"mcp__.*__write.*", "mcp__fs__read_file", nil, false},
		{"Edit.*", "EditMore", nil, true},
		{"Edit.*", "NotebookEdit", nil, true},
		{".*Edit", "NotebookEdit", nil, true},
		{"Notebook.*", "NotebookEdit", nil, true},
		{"^Bash$", "Bash", nil, true},
		{"^Bash$", "BashReadOnly", nil, false},
		{"^(Edit|Write)$", "Write", nil, true},
		{"Edit.|Write.?", "Write", nil, true},
		{"^(Edit.|Write.?)$", "WriteAB", nil, false},
		{"(?i)bash", "BASH", nil, true},
	} {
		m, err := ParseMatcher(c.matcher)
		if err != nil {
			t.Errorf("%q: %v", c.matcher, err)
			continue
		}
		h := &Hooks{}
		h.Add(PreToolUse, m, []Hook{{Command: "x"}})
		if got := h.Matching(PreToolUse, c.tool, c.aliases) != nil; got != c.want {
			t.Errorf("matcher %q, tool %q, once %q: %v", c.matcher, c.tool, c.aliases, got)
		}
	}
}
