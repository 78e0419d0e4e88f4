package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/exec/spool"
	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/bash"
	"mcp-toolset/tools/toolstest"
)

// TestMain lets the test binary act as the supervisor of commands.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case process.Arg:
			os.Exit(command.Supervise())
		case command.TryArg:
			os.Exit(command.Try(os.Stdout))
		}
	}
	goleak.VerifyTestMain(m)
}

var me = session.Owner{Session: "test"}

// fixture holds the tool, its services and a workspace.
type fixture struct {
	Options
	*toolstest.Workspace
	tool *tools.Tool
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	state := t.TempDir()
	w := toolstest.NewWorkspace(t)
	f := &fixture{Workspace: w}
	commands, err := command.New(command.Config{
		Roots: []string{w.Root}, State: filepath.Join(state, "state"), Environ: []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Options = Options{Bash: bash.Options{Commands: commands, Tasks: tasks.New(time.Now)}, Events: event.New(), Running: new(Running)}
	t.Cleanup(func() {
		f.Bash.Tasks.Forget(me, "the end of the test")
		if err := f.Running.Close(); err != nil {
			t.Error(err)
		}
		if err := commands.Close(); err != nil {
			t.Error(err)
		}
	})
	f.tool = New(f.Options)
	return f
}

// start starts a monitor and returns its task.
func (f *fixture) start(t *testing.T, args map[string]any) *tasks.Task {
	t.Helper()
	args["description"] = "what is new"
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := f.Call(t.Context(), f.tool, string(data))
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	started, ok := f.Bash.Tasks.Get(me, resp.Did.Task)
	if !ok {
		t.Fatalf("there is no task %s", resp.Did.Task)
	}
	return started
}

// wants waits for events with exactly these texts, without the time that a monitor took. Data
// begins with "> ".
func (f *fixture) wants(t *testing.T, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var got []string
	for len(got) < len(want) {
		if err := f.Events.Wait(ctx, me); err != nil {
			t.Fatalf("%v; the events were %q, want %q", err, got, want)
		}
		got = append(got, f.texts()...)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("the events were %q, want %q", got, want)
	}
}

// texts takes the events.
func (f *fixture) texts() (all []string) {
	events, _ := f.Events.Take(me)
	for _, e := range events {
		text := e.Text
		if e.Data {
			text = "> " + text
		} else if rest, ok := strings.CutPrefix(text, "ended after "); ok {
			_, rest, _ = strings.Cut(rest, ", ")
			text = "ended, " + rest
		}
		all = append(all, text)
	}
	return all
}

func TestCases(t *testing.T) {
	f := newFixture(t)
	toolstest.Run(t, f.tool, "testdata")
}

// TestFollow checks which lines of a file are events.
func TestFollow(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(f.Root, "a.log")
	write := func(text string, flag int) {
		t.Helper()
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, 0o644)
		if err == nil {
			_, err = file.WriteString(text)
		}
		if err == nil {
			err = file.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("old\nold too, ", 0)
	m := f.start(t, map[string]any{"path": "a.log", "filter": "^[^#]", "persistent": true})
	write("rest\n# left out\n\x1b[31mred\x1b[0m\npart", os.O_APPEND)
	f.wants(t, "> rest", "> red")
	write("ed\n", os.O_APPEND)
	f.wants(t, "> parted")
	write("open", os.O_APPEND)
	for n := int64(0); n < 40; n, _ = m.Output().Bytes() { // the follower has it
		time.Sleep(time.Millisecond)
	}
	write("new\n", os.O_TRUNC)
	f.wants(t, "> open", "> new")
	write("as long as what was there, and longer\n", os.O_TRUNC)
	f.wants(t, "> as long as what was there, and longer")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write("replaced\n", os.O_EXCL)
	f.wants(t, "> replaced")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write("again\n", os.O_EXCL)
	write("last", os.O_APPEND)
	f.wants(t, "> again")
	if err := m.Stop("TaskStop"); err != nil {
		t.Fatal(err)
	}
	f.wants(t, "ended, stopped by TaskStop: what is new. 8 of 9 lines matched.")
	if s := m.Status(); s.State != tasks.Stopped || m.Kind() != "monitor" || m.Title() != "what is new: "+path {
		t.Errorf("%+v, %s, %s", s, m.Kind(), m.Title())
	}
}

// TestAppears checks that a file that does not exist yet is watched from its beginning, and that the
// answer says so.
func TestAppears(t *testing.T) {
	f := newFixture(t)
	if err := os.WriteFile(filepath.Join(f.Root, "servers.log"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	resp, err := f.Call(t.Context(), f.tool, `{"description":"x","path":"server.log"}`)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(f.Root, "server.log")
	if got := toolstest.Text(resp); !strings.HasSuffix(got, "\n["+path+" does not exist yet; it is watched from its beginning]\n[Did you mean "+path[:len(path)-4]+"s.log?]") {
		t.Error(got)
	}
	if err := os.WriteFile(path, []byte("ready\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.wants(t, "> ready")
}

// TestForbidden checks that a file is no longer read once it leads elsewhere.
func TestForbidden(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(f.Root, "a.log")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	m := f.start(t, map[string]any{"path": "a.log"})
	if err := os.Symlink(secret, path+".new"); err != nil {
		t.Skip(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	f.wants(t, "ended, "+path+" is outside the workspace: what is new. It read 0 lines.")
	if s := m.Status(); s.State != tasks.Failed {
		t.Errorf("%+v", s)
	}
}

// printer is a job for tests whose output a test prints.
type printer struct {
	*source
	w *os.File
	n int64
}

func newPrinter(t *testing.T) *printer {
	t.Helper()
	store := spool.NewStore(filepath.Join(t.TempDir(), "output"), spool.DefaultQuota, time.Now)
	log, err := store.New("task")
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = log.Pump(r) }()
	p := &printer{w: w}
	t.Cleanup(func() {
		w.Close()
		<-log.Done()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	p.source = &source{log: log}
	return p
}

// print prints text and returns when the log has it.
func (p *printer) print(t *testing.T, text string) {
	t.Helper()
	if _, err := p.w.WriteString(text); err != nil {
		t.Fatal(err)
	}
	p.n += int64(len(text))
	for n := int64(0); n < p.n; n, _ = p.log.Bytes() {
		time.Sleep(0)
	}
}

// exit ends the job.
func (p *printer) exit() {
	p.w.Close()
	<-p.log.Done()
	p.end(tasks.Completed, "exit code 0")
	p.finish()
}

// numbers returns the lines "FROM" to "TO".
func numbers(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

// TestRate checks that at most ten lines a second are events, and that the others are counted.
func TestRate(t *testing.T) {
	f, p := newFixture(t), newPrinter(t)
	synctest.Test(t, func(t *testing.T) {
		defer f.Bash.Tasks.Forget(me, "the end of the test")
		p.source = newSource(f.Running, 0, p.log)
		p.shared = true
		id, err := f.Bash.Tasks.Add(me, p)
		if err != nil {
			t.Fatal(err)
		}
		p.print(t, "before\n")
		m := f.start(t, map[string]any{"task_id": id.ID, "persistent": true})
		step := func(d time.Duration, want string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := strings.Join(f.texts(), " "); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		step(time.Second, "")
		p.print(t, numbers(1, 25))
		step(readEvery, "> 1 > 2 > 3 > 4 > 5 > 6 > 7 > 8 > 9 > 10")
		step(window-2*readEvery, "")
		p.print(t, "26\n")
		step(readEvery, "")
		step(readEvery, "16 lines suppressed: more than 10 a second. TaskOutput shows them.")
		step(time.Hour, "")
		p.print(t, "one\n\n"+strings.Repeat("é", 2001)+"\n"+strings.Repeat("x", 2000)+"\n"+strings.Repeat("y", 1<<20)+"\nopen")
		step(readEvery, "> one > "+strings.Repeat("é", 1999)+"… > "+strings.Repeat("x", 2000)+" > "+strings.Repeat("y", 1999)+"…")
		p.print(t, "ed\n"+numbers(1, 20)+"end")
		p.exit()
		<-m.Done()
		step(0, "> opened > 1 > 2 > 3 > 4 > 5 16 lines suppressed: more than 10 a second. TaskOutput shows them. "+
			"ended, the task "+id.ID+" has ended: what is new. It read 53 lines.")
		if _, err := f.Call(t.Context(), f.tool, `{"description": "x", "task_id": "`+id.ID+`"}`); err == nil || err.Error() != "the background task "+id.ID+" has ended. TaskOutput shows its output." {
			t.Error(err)
		}
	})
}

// TestEnd checks how monitors end that run no command.
func TestEnd(t *testing.T) {
	f, p := newFixture(t), newPrinter(t)
	synctest.Test(t, func(t *testing.T) {
		defer f.Bash.Tasks.Forget(me, "the end of the test")
		p.source = newSource(f.Running, 0, p.log)
		p.shared = true
		id, err := f.Bash.Tasks.Add(me, p)
		if err != nil {
			t.Fatal(err)
		}
		start := func() *tasks.Task { return f.start(t, map[string]any{"task_id": id.ID, "timeout_ms": 60000}) }
		want := func(m *tasks.Task, want string) {
			t.Helper()
			<-m.Done()
			if got := strings.Join(f.texts(), " "); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		want(start(), "ended, timed out after 1m0s: what is new. It read 0 lines.")
		m := start()
		_ = m.Stop("TaskStop")
		want(m, "ended, stopped by TaskStop: what is new. It read 0 lines.")
		m = start()
		go func() { _ = f.Running.Close() }()
		want(m, "ended, stopped: the server is ending: what is new. It read 0 lines.")
		m.Release()
		if _, err := os.Stat(p.log.Path()); err != nil {
			t.Errorf("the output of the task went with the monitor: %v", err)
		}
		<-p.ending // the fixture's own job is ended too
		p.exit()
		synctest.Wait()
		if len(f.Running.all) > 0 {
			t.Errorf("%d jobs are left", len(f.Running.all))
		}
	})
}

// TestLimit checks that nothing is left of a monitor that is one too many.
func TestLimit(t *testing.T) {
	f := newFixture(t)
	if err := os.WriteFile(filepath.Join(f.Root, "a.log"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		f.start(t, map[string]any{"path": "a.log", "persistent": true})
	}
	_, err := f.Call(t.Context(), f.tool, `{"description": "x", "path": "a.log"}`)
	if want := "100 tasks are running in the background, and no more may. Stop one with TaskStop; TaskOutput without task_id lists them."; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	logs := f.Bash.Tasks.List(me)
	f.Bash.Tasks.Forget(me, "the end of the session")
	for _, m := range logs {
		if _, err := os.Stat(m.Output().Path()); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("the output of a monitor is left: %v", err)
		}
	}
	f.Running.mu.Lock()
	defer f.Running.mu.Unlock()
	if n := len(f.Running.all); n > 1 { // the one too many ends by itself
		t.Errorf("%d jobs are left", n)
	}
}
