package task

import (
	"strings"
	"testing"
	"time"

	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/testscale"
	"mcp-toolset/tools/toolstest"
)

// TestFilterFar checks that a filter reads much output in one call, but not all of it in a
// call that does not wait.
func TestFilterFar(t *testing.T) {
	testscale.NeedFull(t)
	w, p, r := toolstest.NewWorkspace(t), newPrinter(t), tasks.New(time.Now)
	id := add(t, r, me, newJob(p, "make"))
	mib := strings.Repeat(strings.Repeat("x", 1023)+"\n", 1024)
	for range 100 {
		p.print(t, mib)
	}
	p.print(t, "here\n")
	for range 100 {
		p.print(t, mib)
	}
	p.print(t, "there\n")
	tool := NewOutput(Options{Tasks: r})
	ask := func(args map[string]any, want string, more bool) int64 {
		t.Helper()
		args["task_id"] = id
		resp, err := call(t.Context(), t, w, tool, args)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(toolstest.Text(resp), "\n")
		if !strings.HasPrefix(text, want+"\n") || resp.Meta[MetaMore] != more {
			t.Errorf("%v: %s", args, text)
		}
		return resp.Meta[MetaNextOffset].(int64)
	}
	ask(map[string]any{"block": false, "filter": "^here"}, "here", true)
	next := ask(map[string]any{"block": false, "filter": "^there"}, "[no line that filter matches]", true)
	ask(map[string]any{"block": false, "filter": "^there", "offset": next}, "there", false)
	// A call that may wait reads on.
	ask(map[string]any{"filter": "^there", "offset": 0, "timeout": 600_000}, "there", false)
}
