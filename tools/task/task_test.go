package task

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

// golden runs the cases of a folder. In them $NAME is replaced by a task's id.
func golden(t *testing.T, tool *tools.Tool, dir string, ids map[string]string) {
	t.Helper()
	var there, back []string
	for name, id := range ids {
		there, back = append(there, "$"+name, id), append(back, id, "$"+name)
	}
	copied := t.TempDir()
	files := func(from, to string, pairs []string) {
		t.Helper()
		list, err := filepath.Glob(filepath.Join(from, "*.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range list {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			data = []byte(strings.NewReplacer(pairs...).Replace(string(data)))
			if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	files(dir, copied, there)
	toolstest.Run(t, tool, copied)
	if flag.Lookup("update").Value.String() == "true" {
		files(copied, dir, back)
	}
}

// goldenTasks makes the tasks of the cases. Their ages are such that the number of minutes
// does not change while a case runs.
func goldenTasks(t *testing.T) (*tasks.Registry, map[string]string) {
	t.Helper()
	r, ids := tasks.New(time.Now), map[string]string{}
	start := func(name string, o session.Owner, ago time.Duration, title, output string) *job {
		t.Helper()
		j := newJob(newPrinter(t), title)
		j.status.Started = time.Now().Add(-ago)
		j.print(t, output)
		ids[name] = add(t, r, o, j)
		return j
	}
	const half = 30 * time.Second
	start("RUNS", me, 12*time.Minute+half, "npm run dev", "starting\nlistening on 8080\nGET /a\nGET /b\nGET /")
	start("SILENT", me, 2*time.Hour+5*time.Minute+half, "sleep 10000", "")
	start("STUCK", me, time.Minute+half, "a\nb\x1b[31m "+strings.Repeat("x", 300), "").stopErr = errors.New("process 12 does not end")
	var long strings.Builder
	for i := range 100 {
		fmt.Fprintf(&long, "line %02d\n", i)
	}
	start("FAILED", me, 40*time.Minute+half, "make", long.String()).exit(3, 5*time.Minute+half, "left behind and ended: sleep (pid 12)", "two\nlines")
	start("QUIET", me, 30*time.Minute+half, "true", "").exit(0, 29*time.Minute+half)
	start("LONGLINE", me, 20*time.Minute+half, "base64 a", strings.Repeat("0123456789", 100)).exit(0, 19*time.Minute+half)
	start("OTHERS", session.Owner{Session: "another"}, half, "make", "theirs\n")
	start("GONE", me, 11*time.Minute+half, "yes", "y\n").end(tasks.Status{State: tasks.TimedOut, Detail: "ended after its 10 minutes", Ended: time.Now().Add(-time.Minute - half)})
	gone, _ := r.Get(me, ids["GONE"])
	if err := gone.Output().Remove(); err != nil {
		t.Fatal(err)
	}
	start("BROKEN", me, 10*time.Minute+half, "ls", "a\nb\n").exit(0, 9*time.Minute+half)
	start("DELETED", me, 8*time.Minute+half, "ls", "a\nb\n").exit(0, 7*time.Minute+half)
	broken, _ := r.Get(me, ids["BROKEN"])
	deleted, _ := r.Get(me, ids["DELETED"])
	if err := errors.Join(os.Truncate(broken.Output().Path(), 0), os.Remove(deleted.Output().Path())); err != nil {
		t.Fatal(err)
	}
	return r, ids
}

func TestOutputCases(t *testing.T) {
	r, ids := goldenTasks(t)
	golden(t, NewOutput(Options{Tasks: r, MaxOutput: 90}), "testdata/output", ids)
}

func TestStopCases(t *testing.T) {
	r, ids := goldenTasks(t)
	golden(t, NewStop(Options{Tasks: r}), "testdata/stop", ids)
}

// TestListMany checks that all running tasks are listed, and the 50 that ended last.
func TestListMany(t *testing.T) {
	w, p, r := toolstest.NewWorkspace(t), newPrinter(t), tasks.New(time.Now)
	tool := NewOutput(Options{Tasks: r})
	if resp, err := w.Call(t.Context(), tool, ""); err != nil || toolstest.Text(resp) != "[there are no background tasks]" {
		t.Errorf("%v, %v", resp, err)
	}
	for i := range mostEnded + 3 {
		add(t, r, me, newJob(p, "runs"))
		j := newJob(p, fmt.Sprintf("ended-%d.", i))
		add(t, r, me, j)
		j.exit(0, time.Duration(i)*time.Minute+time.Second)
	}
	resp, err := w.Call(t.Context(), tool, "{}")
	if err != nil {
		t.Fatal(err)
	}
	text := toolstest.Text(resp)
	if strings.Count(text, ": runs\n") != mostEnded+3 || strings.Count(text, ": ended-") != mostEnded || !strings.HasSuffix(text, "\n[left out: 3 that ended earlier]") {
		t.Error(text)
	}
	for i := range mostEnded + 3 {
		if got := strings.Contains(text, fmt.Sprintf(": ended-%d.\n", i)); got != (i < mostEnded) {
			t.Errorf("what ended %d minutes ago is there: %v", i, got)
		}
	}
}

// TestOwner checks that a task belongs to its session, or to the principal of a request
// without a session.
func TestOwner(t *testing.T) {
	w, p, r := toolstest.NewWorkspace(t), newPrinter(t), tasks.New(time.Now)
	for owner, mine := range map[session.Owner]bool{
		me: true, {}: false, {Principal: "p"}: false, {Principal: "p", Session: "test"}: false, {Session: "other"}: false,
	} {
		j := newJob(p, "make")
		id := add(t, r, owner, j)
		for _, tool := range New(Options{Tasks: r}) {
			args := map[string]any{"task_id": id}
			switch tool.Name {
			case "TaskOutput":
				args["block"] = false
			case "TaskInput":
				args["text"] = "x"
				if _, err := call(t.Context(), t, w, tool, args); err == nil || strings.Contains(err.Error(), "takes no input") != mine {
					t.Errorf("input of a task of %+v: %v", owner, err)
				}
				continue
			}
			resp, err := call(t.Context(), t, w, tool, args)
			if (err == nil) != mine || err == nil && strings.Contains(toolstest.Text(resp), id) != mine {
				t.Errorf("%s of a task of %+v: %v, %v", tool.Name, owner, resp, err)
			}
		}
		if hasEnded(&tasks.Task{Job: j}) != mine {
			t.Errorf("a task of %+v was stopped: %v", owner, !mine)
		}
	}
}

func TestForgotten(t *testing.T) {
	w, p := toolstest.NewWorkspace(t), newPrinter(t)
	p.print(t, "out\n")
	p.w.Close()
	<-p.log.Done()
	synctest.Test(t, func(t *testing.T) {
		r, j := tasks.New(time.Now), newJob(p, "make")
		tool, id := NewOutput(Options{Tasks: r}), add(t, r, me, j)
		j.exit(0, 0)
		time.Sleep(time.Hour - 1)
		resp, err := call(t.Context(), t, w, tool, map[string]any{"task_id": id})
		if want := "Task " + id + ": exit code 0\nout"; err != nil || toolstest.Text(resp) != want {
			t.Errorf("%v, %v", resp, err)
		}
		time.Sleep(time.Nanosecond)
		_, err = call(t.Context(), t, w, tool, map[string]any{"task_id": id})
		if want := "there is no background task " + id + ". TaskOutput without task_id lists those there are; one that has ended is forgotten after an hour."; err == nil || err.Error() != want {
			t.Error(err)
		}
		if _, err := os.Stat(p.log.Path()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the output is kept: %v", err)
		}
	})
}

func TestDefinitions(t *testing.T) {
	for i, want := range []struct {
		name, aliases string
		hints         tools.Hints
		inputs        string
	}{
		{"TaskOutput", "[BashOutput]", tools.Hints{ReadOnly: true, Idempotent: true}, "[task_id bash_id block timeout offset filter]"},
		{"TaskInput", "[]", tools.Hints{Destructive: true, OpenWorld: true}, "[task_id text keys eof]"},
		{"TaskStop", "[KillShell KillBash]", tools.Hints{Idempotent: true}, "[task_id shell_id]"},
	} {
		tool := New(Options{Tasks: tasks.New(time.Now)})[i]
		inputs, err := tool.Inputs()
		if _, outErr := tool.OutputSchema(); err != nil || outErr != nil {
			t.Error(err, outErr)
		}
		if tool.Name != want.name || fmt.Sprint(tool.Aliases) != want.aliases || tool.Hints != want.hints || fmt.Sprint(inputs) != want.inputs {
			t.Errorf("%s, %v, %+v, %v", tool.Name, tool.Aliases, tool.Hints, inputs)
		}
		// The others may run beside a TaskOutput that waits.
		c, err := tool.Parse([]byte(`{"task_id": "a"}`))
		if err != nil || tool.Name != "TaskInput" && !toolstest.Prepare(t, c, toolstest.NewWorkspace(t).Env()).Facts.ConcurrencySafe {
			t.Errorf("%s waits for others: %v", tool.Name, err)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 59999 * time.Millisecond: "59 s", time.Minute: "1 min", time.Hour - 1: "59 min",
		time.Hour: "1 h 0 min", 26*time.Hour + 5*time.Minute: "26 h 5 min",
	} {
		if got := duration(d); got != want {
			t.Errorf("%v is %q", d, got)
		}
	}
}
