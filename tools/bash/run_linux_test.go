package bash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/process"
	"mcp-toolset/internal/exec/shellsafe"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

// waitFor waits until a condition holds, which must be soon.
func waitFor(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !so(); {
		if time.Now().After(end) {
			t.Fatalf("%s: it is not so after 20 s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// logs returns the stored output logs.
func (f *fixture) logs(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(f.Roots, "../state/output/*/*.log"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// own is a sleep duration that distinguishes the commands of this process from those of
// others.
var own = fmt.Sprintf("1000.%d", os.Getpid())

// processes returns the processes whose command line contains a word.
func processes(word string) (pids []int) {
	list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range list {
		if text, _ := os.ReadFile(file); strings.Contains(string(text), word) {
			var pid int
			if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err == nil && pid != os.Getpid() {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// A command that the analysis found to only read runs in the analysed form, not as
// written.
func TestRunsWhatWasJudged(t *testing.T) {
	f := newFixture(t, nil)
	w := toolstest.NewWorkspace(t)
	env := w.Env()
	c := call{o: f.Options, env: env, command: "echo as written", judged: &judged{Analysis: &shellsafe.Analysis{
		ReadOnly: true, Script: "echo as judged $MORE", Env: []string{"MORE=with its environment"},
	}}}
	c.o.MaxOutput, c.o.Default, c.o.Foreground = defaultOutput, defaultTimeout, defaultForeground
	for _, one := range []struct {
		edit func(*call)
		want string
	}{
		{func(*call) {}, "as judged with its environment"},
		{func(c *call) { c.judged.distrust = "x" }, "as written"},
		{func(c *call) { c.judged.distrust, c.judged.ReadOnly = "", false }, "as written"},
		{func(c *call) { c.judged.ReadOnly, c.readOnly = true, true }, "as written"},
	} {
		one.edit(&c)
		res, err := c.run(t.Context())
		if err != nil || res.Data.Text != one.want {
			t.Errorf("%q, %v, want %q", res.Data.Text, err, one.want)
		}
	}
	c.judged = nil
	if _, err := c.run(t.Context()); !errors.Is(err, errNoJudgement) {
		t.Error(err)
	}
}

// A git command that only reads does not run a program that a repository names. Any
// other git command does, but in the sandbox.
func TestHostileRepository(t *testing.T) {
	f := newFixture(t, nil)
	w := toolstest.NewWorkspace(t)
	text(t, w, f.Bash, "git init -q . && echo a > a && git add a && printf '*.c filter=evil\n' > .gitattributes && touch b.c && git add . && echo b > a && sleep 0.01; echo x > b.c")
	config := "[core]\n\tfsmonitor = echo EVIL fsmonitor >&2; false\n[diff]\n\texternal = echo EVIL diff\n[filter \"evil\"]\n\tclean = echo EVIL filter >&2; cat\n"
	file, err := os.OpenFile(filepath.Join(w.Root, ".git/config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(config); err != nil {
		t.Fatal(err)
	}
	file.Close()
	for _, cmd := range []string{"git status", "git diff", "git diff b.c"} {
		got, _ := text(t, w, f.Bash, cmd)
		if strings.Contains(got, "EVIL") || got == "" {
			t.Errorf("%s: %s", cmd, got)
		}
		if got, _ := text(t, w, f.Bash, cmd+"; mkdir -p x"); !strings.Contains(got, "EVIL") {
			t.Errorf("the repository is not as hostile as it should be: %s: %s", cmd, got)
		}
	}
}

// Output that is shown whole is not retained; other output is, as a task.
func TestKept(t *testing.T) {
	f := newFixture(t, func(c *command.Config, o *Options) { off(c, o); o.MaxOutput = 100 })
	w := toolstest.NewWorkspace(t)
	owner := w.Session.View().Owner()
	for _, one := range []struct {
		command string
		kept    bool
	}{
		{"printf %100s x", false}, {"printf %101s x", true}, {"exit 3", false}, {"printf %101s x; exit 3", true}, {"kill -9 $$", false}, {"true", false},
		{`printf '\033[0m%.0s' {1..100}; echo a`, false}, // counted as it is shown
	} {
		before := len(f.Tasks.List(owner))
		_, resp := text(t, w, f.Bash, one.command)
		logs := f.logs(t)
		tasks := f.Tasks.List(owner)
		if (len(tasks) > before) != one.kept || len(logs) != len(tasks) {
			t.Errorf("%s: %d tasks, %q", one.command, len(tasks)-before, logs)
		}
		id, _ := resp.Meta[metaTask].(string)
		path, _ := resp.Meta[metaFile].(string)
		if (id != "") != one.kept || (path != "") != one.kept || resp.Effect.Output != path {
			t.Errorf("%s: %v, %+v", one.command, resp.Meta, resp.Effect)
		}
		if one.kept {
			if last := tasks[len(tasks)-1]; last.ID != id || last.Output().Path() != path || last.Status().State == task.Running {
				t.Errorf("%s: %+v", one.command, last)
			}
		}
	}
}

// TestMeta checks the values of _meta, which are for programs.
func TestMeta(t *testing.T) {
	f := newFixture(t, off)
	w := toolstest.NewWorkspace(t)
	contained := f.Commands.Uncontained(t.Context()) == nil
	for _, one := range []struct {
		args string
		want map[string]any
		data string
	}{
		{`{"command": "echo abc"}`, map[string]any{metaStatus: "exited", metaExitCode: 0, metaBytes: int64(4)}, `{"status":"exited","exit_code":0,"text":"abc"}`},
		{`{"command": "exit 3"}`, map[string]any{metaStatus: "exited", metaExitCode: 3, metaBytes: int64(0)}, `{"status":"exited","exit_code":3,"text":"Exit code 3"}`},
		{`{"command": "kill -9 $$"}`, map[string]any{metaStatus: "signalled", metaSignal: "SIGKILL", metaBytes: int64(0)}, `{"status":"signalled","signal":"SIGKILL","text":"Ended by signal 9 (SIGKILL)"}`},
		{`{"command": "sleep 9", "timeout": 20}`, map[string]any{metaStatus: "timed out", metaBytes: int64(0)}, `{"status":"timed out","text":"Timed out after 0.02 s and was stopped\n[a command that begins with sleep is stopped at its timeout; use Sleep or run_in_background]"}`},
	} {
		resp, err := w.Call(t.Context(), f.Bash, one.args)
		if err != nil {
			t.Fatal(err)
		}
		if ms, ok := resp.Meta[metaDuration].(int64); !ok || ms < 0 || ms > 60_000 {
			t.Errorf("%s took %v", one.args, resp.Meta[metaDuration])
		}
		delete(resp.Meta, metaDuration)
		one.want[metaContained] = contained
		data, err := resp.Structured()
		// If sleep ends before its shell, the shell reports that.
		if without := strings.Replace(string(data), `\nTerminated`, "", 1); without != string(data) {
			data, resp.Meta[metaBytes] = []byte(without), int64(0)
		}
		if fmt.Sprint(resp.Meta) != fmt.Sprint(one.want) {
			t.Errorf("%s: %v, want %v", one.args, resp.Meta, one.want)
		}
		if err != nil || string(data) != one.data {
			t.Errorf("%s: %s, %v", one.args, data, err)
		}
	}
}

// A call reports progress once a second.
func TestProgress(t *testing.T) {
	f := newFixture(t, off)
	w := toolstest.NewWorkspace(t)
	env := w.Env()
	var mu sync.Mutex
	var heard []tools.Progress
	env.Progress = func(p tools.Progress) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, p)
		step := filepath.Join(w.Root, fmt.Sprint("go", len(heard)))
		if err := os.WriteFile(step, nil, 0o600); err != nil {
			t.Error(err)
		}
	}
	c, err := f.Bash.Parse(json.RawMessage(`{"command": "until [ -e go1 ]; do sleep 0.01; done; echo one; printf 't\\033[1mw\\033[0mo\\r\\n\\n'; until [ -e go2 ]; do sleep 0.01; done"}`))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, err := toolstest.Prepare(t, c, env).Run(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 2*tick {
		t.Errorf("two were heard in %v", took)
	}
	if len(heard) != 2 || heard[0].Message != "no output yet" || heard[1].Message != "two" || heard[0].Done < 1 || heard[1].Done <= heard[0].Done {
		t.Errorf("%+v", heard)
	}
}

// Cancelling ends all processes and leaves no files.
func TestCancel(t *testing.T) {
	f := newFixture(t, off)
	for _, tool := range []*tools.Tool{f.Bash, f.ReadOnly} {
		w := toolstest.NewWorkspace(t)
		if tool == f.ReadOnly && f.Commands.ReadOnly(t.Context()) != nil {
			continue
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		over := errors.New("the call is over")
		done := make(chan error, 1)
		go func() {
			_, err := w.Call(ctx, tool, `{"command": "(trap '' TERM; setsid sleep `+own+`) & sleep `+own+`"}`)
			done <- err
		}()
		waitFor(t, "it runs", func() bool { return len(processes("sleep\x00"+own)) == 2 })
		cancel(over)
		if err := <-done; !errors.Is(err, over) {
			t.Error(err)
		}
		if left := processes(own); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		if logs, tasks := f.logs(t), f.Tasks.List(w.Session.View().Owner()); len(logs)+len(tasks) > 0 {
			t.Errorf("left: %q, %v", logs, tasks)
		}
	}
}

// A call that is cancelled before it begins runs nothing.
func TestCancelledBefore(t *testing.T) {
	f := newFixture(t, off)
	w := toolstest.NewWorkspace(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("the call is over")
	cancel(over)
	for _, cmd := range []string{"touch x", "git log"} {
		if _, err := run(ctx, t, w, f.Bash, map[string]any{"command": cmd}); !errors.Is(err, over) {
			t.Error(cmd, err)
		}
	}
	if _, err := os.Stat(filepath.Join(w.Root, "x")); err == nil {
		t.Error("it ran")
	}
}

// A command whose client gives up while it starts goes on as a task.
func TestGaveUpAtStart(t *testing.T) {
	f := newFixture(t, off)
	w := toolstest.NewWorkspace(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fmt.Errorf("%w: -32001", tools.ErrGaveUp))
	resp, err := w.Call(ctx, f.Bash, `{"command": "sleep `+own+`"}`)
	if err != nil {
		t.Fatal(err)
	}
	id, _ := resp.Meta[metaTask].(string)
	one, ok := f.Tasks.Get(w.Session.View().Owner(), id)
	if !ok || resp.Meta[metaStatus] != "running" {
		t.Fatalf("%+v", resp)
	}
	_ = one.Stop("the test")
	<-one.Done()
}

// A command in the background ends at its timeout, and the status reports it.
func TestBackground(t *testing.T) {
	f := newFixture(t, off)
	w := toolstest.NewWorkspace(t)
	resp, err := w.Call(t.Context(), f.Bash, `{"command": "echo a; sleep 1000", "run_in_background": true, "timeout": 50}`)
	if err != nil {
		t.Fatal(err)
	}
	id, _ := resp.Meta[metaTask].(string)
	if resp.Meta[metaStatus] != "running" || resp.Effect.Output == "" || resp.Effect.Output != resp.Meta[metaFile] || resp.Failed {
		t.Errorf("%+v", resp)
	}
	one, ok := f.Tasks.Get(w.Session.View().Owner(), id)
	if !ok {
		t.Fatal("there is no task", id)
	}
	<-one.Done()
	if s := one.Status(); s.State != task.TimedOut || s.Detail != "timed out after 0.05 s and was stopped" || s.Exited || s.Ended.Before(s.Started) {
		t.Errorf("%+v", s)
	}
	if one.Kind() != "shell" || one.Title() != "echo a; sleep 1000" {
		t.Error(one.Kind(), one.Title())
	}
	if _, ok := f.Tasks.Get(session.Owner{Session: "another"}, id); ok {
		t.Error("another session sees it")
	}
}

// At the limit of tasks, no command runs on unseen, and an ended command still gets its
// answer.
func TestTooManyTasks(t *testing.T) {
	f := newFixture(t, func(c *command.Config, o *Options) { off(c, o); o.MaxOutput = 100 })
	w := toolstest.NewWorkspace(t)
	idle := make(chan struct{})
	defer close(idle)
	for range 100 {
		if _, err := f.Tasks.Add(w.Session.View().Owner(), endless{&job{}, idle}); err != nil {
			t.Fatal(err)
		}
	}
	const many = "100 tasks are running in the background, and no more may. Stop one with TaskStop; TaskOutput without task_id lists them."
	_, err := w.Call(t.Context(), f.Bash, `{"command": "sleep `+own+`", "run_in_background": true}`)
	if err == nil || err.Error() != many {
		t.Error(err)
	}
	_, err = w.Call(t.Context(), f.Bash, `{"command": "echo; sleep `+own+`", "timeout": 50}`)
	if err == nil || err.Error() != "the command took too long to be waited for, could not go on in the background and was stopped: "+many {
		t.Error(err)
	}
	if left := processes(own); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	got, resp := text(t, w, f.Bash, "seq 100; exit 3")
	if !resp.Failed || !strings.HasPrefix(got, "Exit code 3\n1\n2\n") || !strings.Contains(got, "and not kept: "+many+"]\n") || !strings.HasSuffix(got, "99\n100") || resp.Meta[metaTask] != nil {
		t.Errorf("%s\n%+v", got, resp)
	}
	if logs := f.logs(t); len(logs) > 0 {
		t.Errorf("left: %q", logs)
	}
}

// endless is a task that runs until the end of the test.
type endless struct {
	*job
	done chan struct{}
}

func (e endless) Done() <-chan struct{} { return e.done }
func (e endless) Status() task.Status   { return task.Status{State: task.Running} }
func (e endless) Release()              {}

// If a supervisor is killed, its command ends, too; the answer reports that the result
// is unknown.
func TestLost(t *testing.T) {
	f := newFixture(t, off)
	w := toolstest.NewWorkspace(t)
	type answer struct {
		resp *tools.Response
		err  error
	}
	lose := func() answer {
		done := make(chan answer, 1)
		go func() {
			resp, err := w.Call(t.Context(), f.Bash, `{"command": "echo begun; sleep `+own+`"}`)
			done <- answer{resp, err}
		}()
		waitFor(t, "it runs", func() bool { return len(processes("sleep\x00"+own)) == 1 })
		for _, pid := range processes(process.Arg) {
			if stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); strings.Contains(string(stat), fmt.Sprintf(" %d ", os.Getpid())) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		a := <-done
		waitFor(t, "its command is gone", func() bool { return len(processes(own)) == 0 })
		return a
	}
	a := lose()
	for again := 0; a.err != nil && again < 5; again++ {
		a = lose() // the supervisor was killed before it had reported the start, which is another error
	}
	if a.err != nil {
		t.Fatal(a.err)
	}
	if got := toolstest.Text(a.resp); !strings.HasPrefix(got, "Lost: ") || !strings.HasSuffix(got, "\nbegun") || !a.resp.Failed || a.resp.Meta[metaStatus] != "lost" || a.resp.Meta[metaExitCode] != nil {
		t.Errorf("%s\n%+v", got, a.resp)
	}
}

// A forged last folder does not move the session out of the workspace.
func TestForgedFolder(t *testing.T) {
	f := newFixture(t, nil)
	w := toolstest.NewWorkspace(t)
	if err := errors.Join(os.Mkdir(filepath.Join(w.Root, "sub"), 0o700), os.Symlink("/usr", filepath.Join(w.Root, "link"))); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/usr", w.Root + "/link", w.Root + "/sub/../../..", "relative"} {
		if _, resp := text(t, w, f.Bash, "trap - EXIT; echo "+dir+" > $(echo $TMPDIR/.dir-*)"); resp.Effect.Dir != "" {
			t.Errorf("%s: the session is in %s", dir, resp.Effect.Dir)
		}
	}
	if _, resp := text(t, w, f.Bash, "cd sub"); resp.Effect.Dir != w.Root+"/sub" {
		t.Errorf("%+v", resp.Effect)
	}
}

func TestFolder(t *testing.T) {
	for _, one := range []struct {
		dir                  string
		stateless, succeeded bool
		want                 string
	}{
		{"/r/b", false, true, ""},
		{"/r/b", false, false, "the working directory is still /r/a, since the command failed"},
		{"/x\n", false, true, `the working directory is still /r/a: /x\n is outside of the workspace`},
		{"/r/b", true, true, "the working directory is still /r/a, since this client's requests have no session to keep another in"},
	} {
		c := call{env: &tools.Env{Session: session.View{Dir: "/r/a", Roots: []string{"/r"}, Stateless: one.stateless}}}
		if got := c.folder(one.dir, one.succeeded); got != one.want {
			t.Errorf("%+v: %s", one, got)
		}
	}
}

func TestInRoots(t *testing.T) {
	roots := []string{"/a/b", "/c"}
	for path, want := range map[string]bool{"/a/b": true, "/a/b/x": true, "/a/bx": false, "/a": false, "/c/d/e": true, "/": false, "": false} {
		if inRoots(roots, path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
	if !inRoots([]string{"/"}, "/x") || inRoots(nil, "/x") {
		t.Error("the root of all")
	}
}

// Texts for endings that a test cannot cause at will.
func TestEndings(t *testing.T) {
	exit := func(e process.Exit) command.Result { return command.Result{Exit: e} }
	j := &job{tool: "Bash", limit: 90 * time.Second, answers: shellsafe.Analyse("grep x", shellsafe.Options{})}
	for _, one := range []struct {
		r      command.Result
		state  task.State
		detail string
	}{
		{exit(process.Exit{}), task.Completed, "exit code 0"},
		{exit(process.Exit{Code: 1}), task.Completed, "exit code 1"},
		{exit(process.Exit{Code: 2}), task.Failed, "exit code 2"},
		{exit(process.Exit{Code: -1, Signal: syscall.SIGSEGV}), task.Failed, "ended by signal 11 (SIGSEGV)"},
		{exit(process.Exit{Code: -1, Signal: 40}), task.Failed, "ended by signal 40"},
		{exit(process.Exit{Code: -1, Lost: errors.New("killed\nby hand")}), task.Failed, `lost: killed\nby hand`},
		{command.Result{EndReason: command.Timeout}, task.TimedOut, "timed out after 90 s and was stopped"},
		{command.Result{EndReason: command.Stopped}, task.Stopped, "stopped by TaskStop"},
		{command.Result{EndReason: command.Cancelled}, task.Stopped, "cancelled"},
		{command.Result{EndReason: command.Closing}, task.Stopped, "stopped: the server is ending"},
	} {
		if state, detail := j.ending(one.r); state != one.state || detail != one.detail {
			t.Errorf("%+v: %s, %s", one.r, state, detail)
		}
		if j.failed(one.r) != (one.state != task.Completed) {
			t.Errorf("%+v: failed %v", one.r, j.failed(one.r))
		}
	}
	notes := j.notes(command.Result{
		Exit: process.Exit{Left: 12, Leftover: []string{"a", "b"}, Stuck: true}, Cut: true,
		Blocked: []string{"no\x1b"}, Removed: []string{"/a\nb"}, Quarantine: "/t", Appeared: []string{"/c\nd"},
	})
	want := []string{
		"it left processes running, which were ended: a, b and 10 more; use Bash with run_in_background for what is to go on",
		"something that it started hangs in the system and could not be ended",
		"another process still has its output, so its end may be missing",
		`sandbox: no\x1b`,
		`sandbox: /a\nb is protected; what the command made there was moved to /t. If it was intended, ask the user to move it back`,
		`sandbox: /c\nd is protected and is new here; git tracks it, so it stays. Ask the user to look at it before an editor or agent opens the folder`,
	}
	if strings.Join(notes, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", notes)
	}
}

func TestTitle(t *testing.T) {
	for in, want := range map[string]string{
		"  ls  ": "ls", "a\nb": "a ...", "a\x1b[31m": `a\x1b[31m`,
		strings.Repeat("é", 150): strings.Repeat("é", 100) + " ...", strings.Repeat("a", 200): strings.Repeat("a", 200),
	} {
		if got := (&job{command: in}).Title(); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	for _, one := range [][3]string{{"ls", "", "Run ls"}, {"a\nb", "", "Run a ..."}, {"ls", "List all.", "List all: ls"}} {
		if got := describe(one[0], one[1]); got != one[2] {
			t.Errorf("%q: %q", one, got)
		}
	}
}

func TestOptions(t *testing.T) {
	if err := checkShell(nil); !errors.Is(err, command.ErrNoShell) {
		t.Error(err)
	}
	why := errors.New("it does not hold")
	c := commands(t, "/usr/bin")
	for name, one := range map[string]struct {
		o    Options
		want []error
	}{
		"both":     {Options{Commands: c}, []error{nil, nil}},
		"one":      {Options{Commands: c, ReadOnly: func() error { return why }}, []error{nil, why}},
		"no shell": {Options{}, []error{command.ErrNoShell, command.ErrNoShell}},
	} {
		r, err := tools.NewRegistry(New(one.o), tools.Gates{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, a := range r.Absent() {
			got[a.Name] = a.Reason
		}
		for i, tool := range []string{"Bash", "BashReadOnly"} {
			want := ""
			if one.want[i] != nil {
				want = one.want[i].Error()
			}
			if got[tool] != want {
				t.Errorf("%s: %s is absent: %q, want %q", name, tool, got[tool], want)
			}
		}
	}
}

// A session whose folder is gone, with and without another root.
func TestNoFolder(t *testing.T) {
	for _, one := range []struct {
		dir   string
		roots []string
		err   error
		want  string
		back  string
	}{
		{"/r/a", []string{"/r"}, os.ErrNotExist, "/r/a, the working directory, does not exist any more. The working directory is /r now; run the command again if that suits it.", "/r"},
		{"/r/a", []string{"/r"}, nil, "/r/a, the working directory, is not a folder any more. The working directory is /r now; run the command again if that suits it.", "/r"},
		{"/r/a", []string{"/r"}, &os.PathError{Op: "stat", Path: "/r/a", Err: syscall.EACCES}, "/r/a, the working directory, cannot be entered: permission denied. The working directory is /r now; run the command again if that suits it.", "/r"},
		{"/r", []string{"/r"}, os.ErrNotExist, "/r, the working directory, does not exist any more. Create it again, or ask the user to start the server with another root.", ""},
		{"/r", nil, os.ErrNotExist, "/r, the working directory, does not exist any more. Create it again, or ask the user to start the server with another root.", ""},
	} {
		c := call{env: &tools.Env{Session: session.View{Dir: one.dir, Roots: one.roots}}}
		err := c.noFolder(one.err)
		var r *tools.Recorded
		back := ""
		if errors.As(err, &r) {
			back = r.Effect.Dir
		}
		if err.Error() != one.want || back != one.back {
			t.Errorf("%v, back to %q", err, back)
		}
	}
}
