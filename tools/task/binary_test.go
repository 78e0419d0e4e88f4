package task

import (
	"strings"
	"testing"
	"time"

	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/tools/toolstest"
)

// TestBinary checks that binary output is replaced by a note, and that its offsets lead to
// the output after it.
func TestBinary(t *testing.T) {
	w, r := toolstest.NewWorkspace(t), tasks.New(time.Now)
	j := newJob(newPrinter(t), "head /dev/urandom")
	soup := strings.Repeat("\x00\x01\x02\xff\xfe\xfd", 1000) + "\n"
	j.print(t, soup)
	id := add(t, r, me, j)
	tool := NewOutput(Options{Tasks: r})
	want := func(args map[string]any, want string) {
		t.Helper()
		args["task_id"], args["block"] = id, false
		resp, err := call(t.Context(), t, w, tool, args)
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(toolstest.Text(resp), "\n")
		if want = strings.ReplaceAll(want, "$FILE", j.Output().Path()); got != want {
			t.Errorf("%v: %q, want %q", args, got, want)
		}
	}
	const note = "[binary output, 6,001 bytes, not shown; it is in $FILE]\n"
	want(map[string]any{}, note+"[next offset 6001; there is no more yet]")
	want(map[string]any{"offset": 0}, note+"[next offset 6001; there is no more yet]")
	want(map[string]any{"filter": "."}, note+"[next offset 6001; there is no more yet]")
	j.print(t, "ready\n")
	want(map[string]any{"offset": 6001}, "ready\n[next offset 6007; there is no more yet]")
	j.exit(0, 0)
}
