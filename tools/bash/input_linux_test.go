package bash

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/exec/task"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"

	tasktools "mcp-toolset/tools/task"
)

// input runs a command with an open input, and returns TaskInput and the task's id.
func (f *fixture) input(t *testing.T, w *toolstest.Workspace, command string, more map[string]any) (*tools.Tool, string) {
	t.Helper()
	args := map[string]any{"command": command, "run_in_background": true, "stdin": true}
	for k, v := range more {
		args[k] = v
	}
	resp, err := run(t.Context(), t, w, f.Bash, args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Tasks.Forget(w.Session.View().Owner(), "the test") })
	return tasktools.NewInput(tasktools.Options{Tasks: f.Tasks}), resp.Did.Task
}

// send calls TaskInput and returns the answer, or the error.
func (f *fixture) send(t *testing.T, w *toolstest.Workspace, tool *tools.Tool, args map[string]any) string {
	t.Helper()
	resp, err := run(t.Context(), t, w, tool, args)
	if err != nil {
		return "error: " + err.Error()
	}
	return strings.ReplaceAll(toolstest.Text(resp), args["task_id"].(string), "$TASK")
}

func TestTaskInput(t *testing.T) {
	f := newFixture(t, nil)
	w := toolstest.NewWorkspace(t)
	tool, id := f.input(t, w, "while read -r line; do echo \"got $line\"; done; echo end; exit 3", nil)
	for _, one := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"task_id": id, "text": "a b\\n"}, "Task $TASK: running, 0 s\n[no output since]\n[next offset 0]"}, // no newline is added
		{map[string]any{"task_id": id, "text": "\nc\n"}, "Task $TASK: running, N s\ngot a b\\n\ngot c\n[next offset 16]"},
		{map[string]any{"task_id": id}, "error: there is nothing to send. Give text, keys or eof."},
		{map[string]any{"task_id": id, "text": strings.Repeat("x", 65537)}, "error: text has 65537 bytes; the most is 65536. Send it in parts, or let the program read a file."},
		{map[string]any{"task_id": "abcdef", "text": "x"}, "error: there is no background task abcdef. TaskOutput without task_id lists those there are; one that has ended is forgotten after an hour."},
		{map[string]any{"task_id": id, "text": "d\n", "eof": true}, "Task $TASK: exit code 3\ngot d\nend"},
		{map[string]any{"task_id": id, "text": "d\n"}, "error: the background task " + id + " has ended. TaskOutput shows its output."},
	} {
		got := f.send(t, w, tool, one.args)
		for _, n := range []string{"0", "1", "2", "3"} {
			one.want, got = strings.ReplaceAll(one.want, "running, "+n+" s", "running, N s"), strings.ReplaceAll(got, "running, "+n+" s", "running, N s")
		}
		if got != one.want {
			t.Errorf("%v\n--- got\n%s\n--- want\n%s", one.args, got, one.want)
		}
	}
}

// TestInputNotRead checks that a task that does not read is no reason to wait for ever, and that
// one without input refuses it.
func TestInputNotRead(t *testing.T) {
	f := newFixture(t, nil)
	w := toolstest.NewWorkspace(t)
	_, id := f.input(t, w, "sleep 1000", nil)
	one, _ := f.Tasks.Get(w.Session.View().Owner(), id)
	r := one.Job.(task.Receiver)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if n, err := r.Send(ctx, make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) || n < 4<<10 || n == 1<<20 {
		t.Error(n, err)
	}
	resp, err := run(t.Context(), t, w, f.Bash, map[string]any{"command": "sleep 1000", "run_in_background": true})
	if err != nil {
		t.Fatal(err)
	}
	tool := tasktools.NewInput(tasktools.Options{Tasks: f.Tasks})
	id = resp.Did.Task
	if got := f.send(t, w, tool, map[string]any{"task_id": id, "text": "x"}); got != "error: the background task "+id+" takes no input. Start it again by Bash with run_in_background and stdin." {
		t.Error(got)
	}
	if _, err := run(t.Context(), t, w, f.Bash, map[string]any{"command": "cat", "stdin": true}); err == nil || err.Error() != "stdin is for background tasks only. Add run_in_background, or leave stdin out." {
		t.Error(err)
	}
}

// TestInputIsNotReadOnly checks that a command that only reads counts as one that does not if its
// input is open, and that input to a task outside of the sandbox asks.
func TestInputIsNotReadOnly(t *testing.T) {
	f := newFixture(t, nil)
	f.needContainment(t)
	w := toolstest.NewWorkspace(t)
	call, err := f.Bash.Parse([]byte(`{"command":"cat","run_in_background":true,"stdin":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if p := toolstest.Prepare(t, call, w.Env()); p.Facts.ReadOnly {
		t.Error("it counts as read-only")
	}
	for _, free := range []bool{false, true} {
		tool, id := f.input(t, w, "cat", map[string]any{"dangerouslyDisableSandbox": free})
		call, err := tool.Parse([]byte(`{"task_id":"` + id + `","text":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		d := toolstest.Prepare(t, call, w.Env()).Check(w.Env())
		if free != (d != nil && d.Behavior == policy.Ask && d.Layer == policy.LayerSandbox) {
			t.Errorf("%v: %+v", free, d)
		}
	}
}
