package bash

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mcp-toolset/internal/exec/command"
	"mcp-toolset/internal/exec/mounttest"
	"mcp-toolset/internal/exec/spool"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/tools/toolstest"
)

// fill replaces the state folder by a full file system.
func fill(t *testing.T, state string) {
	t.Helper()
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", state, "tmpfs", 0, "size=64k,mode=700"); err != nil {
		t.Skip("no file system can be mounted: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(state, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(state, "filler"), make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatal("it is not full: ", err)
	}
}

// TestStateFull checks that a command whose output cannot be stored continues. Output
// within the limit of an answer is shown, and the rest is counted.
func TestStateFull(t *testing.T) {
	if !mounttest.Own(t) {
		return
	}
	const full = "the state folder of the server takes no more (no space left on device); ask the user to free space there"
	f := newFixture(t, func(c *command.Config, _ *Options) { fill(t, c.State) })
	w := toolstest.NewWorkspace(t)
	made := func(name string) {
		t.Helper()
		if _, err := os.Stat(filepath.Join(w.Root, name)); err != nil {
			t.Error(err)
		}
	}
	got, resp := text(t, w, f.Bash, `echo begin; bash -c "sleep 0.01"; touch one`)
	if made("one"); got != "begin" || resp.Failed || resp.Meta[metaTask] != nil {
		t.Errorf("%s, %+v", got, resp)
	}
	got, resp = text(t, w, f.Bash, "seq 100000; touch two")
	if made("two"); resp.Failed || !strings.Contains(got, "omitted, and not kept: "+full+"]\n") || !strings.HasSuffix(got, "\n99999\n100000") || len(got) < 20_000 {
		t.Errorf("%d bytes: %.200s ... %s", len(got), got, got[max(0, len(got)-200):])
	}
	background := func(cmd string) (*task.Task, spool.View) {
		t.Helper()
		resp, err := run(t.Context(), t, w, f.Bash, map[string]any{"command": cmd, "run_in_background": true})
		if err != nil {
			t.Fatal(err)
		}
		one, _ := f.Tasks.Get(w.Session.View().Owner(), resp.Meta[metaTask].(string))
		<-one.Done()
		waitFor(t, "it is settled", func() bool { return one.Job.(*taskJob).job.Load() == nil })
		v, err := one.Output().View(10_000)
		if s := one.Status(); err != nil || s.State != task.Completed {
			t.Errorf("%s: %+v, %v", cmd, s, err)
		}
		return one, v
	}
	one, v := background("echo begin; touch three")
	if made("three"); v.Head != "begin\n" || len(one.Status().Notes) > 0 {
		t.Errorf("%+v, %q", v, one.Status().Notes)
	}
	one, v = background("seq 100000; touch four")
	const note = "of 588895 bytes of output 0 are kept: " + full
	if made("four"); !strings.HasSuffix(v.Tail, "\n99999\n100000\n") || strings.Join(one.Status().Notes, "\n") != note {
		t.Errorf("%d bytes, %q", len(v.Tail), one.Status().Notes)
	}
}

// TestEndedTaskInMemory checks that an ended command takes at most 16 KB as a task,
// however long its text is, and that all of its output can be shown.
func TestEndedTaskInMemory(t *testing.T) {
	f := newFixture(t, off)
	w := toolstest.NewWorkspace(t)
	owner := w.Session.View().Owner()
	start := func(n int) {
		t.Helper()
		cmd := "seq 10000 # " + strings.Repeat("x", 80_000)
		for range n {
			if _, err := run(t.Context(), t, w, f.Bash, map[string]any{"command": cmd, "run_in_background": true}); err != nil {
				t.Fatal(err)
			}
		}
		for _, one := range f.Tasks.List(owner) {
			waitFor(t, "it is settled", func() bool { return one.Job.(*taskJob).job.Load() == nil })
		}
	}
	measure := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	start(4) // allocates everything that is created only once
	before := measure()
	const n = 12
	start(n)
	// What ends a command may still hold its memory.
	waitFor(t, "an ended task takes at most 16 KB", func() bool { return (measure()-before)/n <= 16<<10 })
	for _, one := range f.Tasks.List(owner) {
		v, err := one.Output().View(1 << 20)
		if s := one.Status(); err != nil || !strings.HasSuffix(v.Head, "\n10000\n") || s.Detail != "exit code 0" || s.Ended.IsZero() {
			t.Errorf("%+v, %d bytes, %v", s, len(v.Head), err)
		}
		if !strings.HasPrefix(one.Title(), "seq 10000 # xx") || one.Stop("TaskStop") != nil {
			t.Error(one.Title())
		}
	}
	// Nothing is stored for a session that has ended, either.
	EndSession(f.Options, w.Session.View(), func() {})
	waitFor(t, "its tasks and their output are gone", func() bool { return len(f.Tasks.List(owner))+len(f.logs(t)) == 0 })
}
