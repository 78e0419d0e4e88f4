//go:build linux || darwin

package feed

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcp-toolset/internal/exec/spool"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/record/undo"
	"mcp-toolset/session"
)

// TestUndo checks the changes of a session, their undo, and paths that have changed since.
func TestUndo(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(base, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	roots, err := workspace.OpenRoots([]string{root})
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	store := undo.New(undo.Options{State: filepath.Join(base, "state"), Roots: roots, Instance: "i", Log: slog.New(slog.DiscardHandler)})
	defer store.Close()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	v := view("claude")
	change := func(o session.Owner, f func()) {
		t.Helper()
		r, err := store.Begin(t.Context(), undo.Call{Owner: o, Tool: "Bash", ID: "1", Title: "Run x"})
		if err != nil {
			t.Fatal(err)
		}
		f()
		r.End(t.Context())
	}
	write("a", "one\n")
	change(v.Owner(), func() { write("a", "two\n"); write("b", "new\n") })
	change(session.Owner{Session: "other"}, func() { write("c", "of another session\n") })

	w := newWorld(t, Parts{Undo: store})
	w.Roots = []string{root}
	w.Use(v)
	clean := func(text string) string { return strings.ReplaceAll(text, root, "ROOT") }
	ask := func(op, params string) string { return clean(w.ask(w, op, strings.ReplaceAll(params, "ROOT", root))) }
	if got := ask("session", `{"id":"1"}`); strings.Count(got, `"n":`) != 1 || !strings.Contains(got, `"title":"Run x","summary":"2 paths","undoes":[],"undone":false`) {
		t.Errorf("%s", got)
	}
	for _, c := range [][3]string{
		{"change", `{"session":"1","n":1}`, `{"n":1,"paths":[{"path":"ROOT/a","what":"modified","diff":"--- ROOT/a\n+++ ROOT/a\n@@ -1 +1 @@\n-one\n+two\n","note":""},{"path":"ROOT/b","what":"created","diff":"--- ROOT/b\n+++ ROOT/b\n@@ -0,0 +1 @@\n+new\n","note":""}]}`},
		{"change", `{"session":"1","n":2}`, "404 the session has no change set 2. Look at its changes."},
		{"undo", `{"session":"1","n":2}`, "404 the session has no change set 2. Look at its changes."},
		{"undo", `{"session":"1","n":1,"paths":["ROOT/x"]}`, "409 1 cannot be undone: no change is recorded at this path. Look at the change set."},
	} {
		if got := ask(c[0], c[1]); got != c[2] {
			t.Errorf("%s %s: %s", c[0], c[1], got)
		}
	}
	if got := ask("undo", `{"session":"1","n":1,"paths":["ROOT/b"]}`); !strings.HasPrefix(got, `{"text":"1 path changed (undo 3 takes this back):`) || !strings.HasSuffix(got, `"conflicts":[]}`) {
		t.Errorf("%s", got)
	}
	if got := ask("session", `{"id":"1"}`); !strings.Contains(got, `"undoes":[1],"undone":false`) || strings.Contains(got, `"undone":true`) { // in part
		t.Errorf("%s", got)
	}
	write("a", "by the user\n")
	if got := ask("undo", `{"session":"1","n":1}`); got != `{"text":"Nothing was changed.\n1 path already as before.\nNot undone:\n  a: changed since\n","conflicts":[{"path":"ROOT/a","why":"changed since"}]}` {
		t.Errorf("%s", got)
	}
	write("a", "two\n")
	if got := ask("undo", `{"session":"1","n":1}`); !strings.Contains(got, `"conflicts":[]`) {
		t.Errorf("%s", got)
	}
	if got := ask("session", `{"id":"1"}`); !strings.Contains(got, `"summary":"2 paths","undoes":[],"undone":true`) {
		t.Errorf("%s", got)
	}
	if data, err := os.ReadFile(filepath.Join(root, "a")); string(data) != "one\n" {
		t.Errorf("%q, %v", data, err)
	}
}

// job is a task that a test plays.
type job struct {
	task.Job
	err error
}

func (j job) Kind() string          { return "shell" }
func (j job) Title() string         { return "make" }
func (j job) Done() <-chan struct{} { return nil }
func (j job) Status() task.Status {
	return task.Status{State: task.Running, Started: time.UnixMilli(5)}
}
func (j job) Stop(string) error  { return j.err }
func (j job) Output() *spool.Log { return nil }

// TestTasks checks how tasks are listed and stopped.
func TestTasks(t *testing.T) {
	w := newWorld(t, Parts{Tasks: task.New(time.Now)})
	v := view("claude")
	w.Use(v)
	good, err := w.Tasks.AddSeen(v.Owner(), job{})
	if err != nil {
		t.Fatal(err)
	}
	bad, err := w.Tasks.AddSeen(v.Owner(), job{err: errors.New("it is stuck\x1b")})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.ask(w, "stop", `{"task":"`+good.ID+`"}`); got != `{"text":"Stopped task `+good.ID+`."}` {
		t.Errorf("%s", got)
	}
	if got := w.ask(w, "stop", `{"task":"`+bad.ID+`"}`); got != `500 the task could not be stopped: it is stuck\x1b. Look whether it still runs, then try again.` {
		t.Errorf("%s", got)
	}
}
