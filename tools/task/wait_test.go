package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/internal/exec/spool"
	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

// scene is a task that runs with a fake clock.
type scene struct {
	t    *testing.T
	w    *toolstest.Workspace
	r    *tasks.Registry
	j    *job
	id   string
	told []tools.Progress
}

func play(t *testing.T, f func(s *scene)) {
	t.Helper()
	w, p := toolstest.NewWorkspace(t), newPrinter(t)
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, w: w, r: tasks.New(time.Now), j: newJob(p, "make")}
		s.id = add(t, s.r, me, s.j)
		f(s)
	})
}

// reply is the answer to a call, and the time it took.
type reply struct {
	text string
	meta map[string]any
	err  error
	took time.Duration
}

// ask calls TaskOutput.
func (s *scene) ask(ctx context.Context, args string) reply {
	s.t.Helper()
	call, err := NewOutput(Options{Tasks: s.r}).Parse(json.RawMessage(`{"task_id": "` + s.id + `"` + args + `}`))
	if err != nil {
		s.t.Fatal(err)
	}
	env := s.w.Env()
	env.Progress = func(p tools.Progress) { s.told = append(s.told, p) }
	began := time.Now()
	resp, err := toolstest.Prepare(s.t, call, env).Run(ctx, env)
	if err != nil {
		return reply{err: err, took: time.Since(began)}
	}
	return reply{text: toolstest.Text(resp), meta: resp.Meta, took: time.Since(began)}
}

// wants compares an answer and its time with the expected ones. $ID is the task's id.
func (s *scene) wants(got reply, took time.Duration, text string) {
	s.t.Helper()
	if got.err != nil {
		s.t.Fatal(got.err)
	}
	if diff := cmp.Diff(text, strings.ReplaceAll(got.text, s.id, "$ID")); diff != "" {
		s.t.Errorf("answer (-want +got):\n%s", diff)
	}
	if got.took != took {
		s.t.Errorf("it took %v, want %v", got.took, took)
	}
}

// after runs f after d, while a call waits.
func (s *scene) after(d time.Duration, f func()) { time.AfterFunc(d, f) }

func TestBlockUntilEnd(t *testing.T) {
	play(t, func(s *scene) {
		s.j.print(s.t, "one\n")
		s.after(12500*time.Millisecond, func() { s.j.print(s.t, "two\n"); s.j.exit(3, 0) })
		got := s.ask(s.t.Context(), "")
		s.wants(got, 12500*time.Millisecond, "Task $ID: exit code 3\none\ntwo")
		want := map[string]any{MetaTaskID: s.id, MetaStatus: tasks.Failed, MetaExitCode: 3, MetaNextOffset: int64(8), MetaMore: false}
		if diff := cmp.Diff(want, got.meta); diff != "" {
			s.t.Errorf("_meta (-want +got):\n%s", diff)
		}
		s.wants(s.ask(s.t.Context(), ""), 0, "Task $ID: exit code 3\none\ntwo")
	})
}

func TestBlockUntilTimeout(t *testing.T) {
	for args, took := range map[string]time.Duration{
		"":                                30 * time.Second,
		`, "timeout": 2500`:               2500 * time.Millisecond,
		`, "timeout": "600000"`:           10 * time.Minute,
		`, "timeout": 0`:                  0,
		`, "block": false`:                0,
		`, "block": false, "timeout": 10`: 0,
		`, "filter": "o"`:                 30 * time.Second,
	} {
		play(t, func(s *scene) {
			s.j.print(s.t, "one\n")
			got := s.ask(s.t.Context(), args)
			s.wants(got, took, "Task $ID: running, "+duration(took)+"\none\n[next offset 4; there is no more yet]")
			want := map[string]any{MetaTaskID: s.id, MetaStatus: tasks.Running, MetaNextOffset: int64(4), MetaMore: false}
			if diff := cmp.Diff(want, got.meta); diff != "" {
				s.t.Errorf("_meta (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFollow checks that a reader that follows the output gets every line once, soon after
// it was printed, and the end.
func TestFollow(t *testing.T) {
	play(t, func(s *scene) {
		s.j.print(s.t, "one\n")
		s.wants(s.ask(s.t.Context(), `, "offset": 0`), 0, "Task $ID: running, 0 s\none\n[next offset 4; there is no more yet]")
		s.after(1040*time.Millisecond, func() { s.j.print(s.t, "two\nthr") })
		s.wants(s.ask(s.t.Context(), `, "offset": 4`), 1100*time.Millisecond, "Task $ID: running, 1 s\ntwo\n[next offset 8; there is no more yet]")
		// An incomplete line does not count as a new one, but is shown at the timeout.
		s.wants(s.ask(s.t.Context(), `, "offset": 8, "timeout": 5000`), 5*time.Second, "Task $ID: running, 6 s\nthr\n[next offset 11, within the last line; there is no more yet]")
		s.wants(s.ask(s.t.Context(), `, "offset": 11, "timeout": 1000`), time.Second, "Task $ID: running, 7 s\n[nothing new]\n[next offset 11; there is no more yet]")
		s.after(950*time.Millisecond, func() { s.j.print(s.t, "ee\nfour\n") })
		s.wants(s.ask(s.t.Context(), `, "offset": 11`), time.Second, "Task $ID: running, 8 s\nee\nfour\n[next offset 19; there is no more yet]")
		s.after(1010*time.Millisecond, func() { s.j.print(s.t, "end"); s.j.exit(0, 0) })
		s.wants(s.ask(s.t.Context(), `, "offset": 19`), 1010*time.Millisecond, "Task $ID: exit code 0\nend\n[next offset 22, the end of the output]")
		s.wants(s.ask(s.t.Context(), `, "offset": 22`), 0, "Task $ID: exit code 0\n[nothing new]\n[next offset 22, the end of the output]")
	})
}

// TestFollowFilter checks that a call with a filter waits for a matching line.
func TestFollowFilter(t *testing.T) {
	play(t, func(s *scene) {
		s.j.print(s.t, "one\n")
		s.after(950*time.Millisecond, func() { s.j.print(s.t, "two\nlist") })
		s.after(2950*time.Millisecond, func() { s.j.print(s.t, "ening on 80\nthree\n") })
		const filter = `, "filter": "^list(ening)?"`
		s.wants(s.ask(s.t.Context(), `, "offset": 0`+filter), 3*time.Second, "Task $ID: running, 3 s\nlistening on 80\n[next offset 30; there is no more yet]")
		s.wants(s.ask(s.t.Context(), `, "offset": 24, "timeout": 900`+filter), 900*time.Millisecond, "Task $ID: running, 3 s\n[no line that filter matches]\n[next offset 30; there is no more yet]")
		s.after(time.Second, func() { s.j.exit(0, 0) })
		s.wants(s.ask(s.t.Context(), `, "offset": 30`+filter), time.Second, "Task $ID: exit code 0\n[no line that filter matches]\n[next offset 30, the end of the output]")
	})
}

// TestViewThenFollow checks that a view ends where the next part begins, also within a line
// or a character.
func TestViewThenFollow(t *testing.T) {
	play(t, func(s *scene) {
		s.j.print(s.t, "one\n45 \xc3")
		s.wants(s.ask(s.t.Context(), `, "block": false`), 0, "Task $ID: running, 0 s\none\n45 \n[next offset 7, within the last line; there is no more yet]")
		s.j.print(s.t, "\xa9\nend\n")
		s.wants(s.ask(s.t.Context(), `, "offset": 7`), 0, "Task $ID: running, 0 s\né\nend\n[next offset 14; there is no more yet]")
	})
}

func TestCancel(t *testing.T) {
	for _, args := range []string{"", `, "offset": 4`, `, "filter": "x"`, `, "offset": 0, "filter": "x"`} {
		play(t, func(s *scene) {
			s.j.print(s.t, "one\n")
			ctx, cancel := context.WithCancel(s.t.Context())
			s.after(1234*time.Millisecond, cancel)
			if got := s.ask(ctx, args); !errors.Is(got.err, context.Canceled) || got.took != 1234*time.Millisecond {
				s.t.Errorf("%s: %v after %v", args, got.err, got.took)
			}
		})
	}
}

// TestProgress checks that a client gets a progress report every second, with the last line
// of the output.
func TestProgress(t *testing.T) {
	play(t, func(s *scene) {
		s.after(1500*time.Millisecond, func() { s.j.print(s.t, "one\n 45%\r 46%") })
		s.ask(s.t.Context(), `, "timeout": 3900`)
		want := []tools.Progress{{Done: 1, Message: "no output yet"}, {Done: 2, Message: "46%"}, {Done: 3, Message: "46%"}}
		if diff := cmp.Diff(want, s.told); diff != "" {
			s.t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestGapIsReadable checks that reading on from a view's gap returns all that the view left
// out.
func TestGapIsReadable(t *testing.T) {
	play(t, func(s *scene) {
		var all strings.Builder
		for i := range 10_000 {
			fmt.Fprintf(&all, "line %04d\n", i)
		}
		s.j.print(s.t, all.String())
		s.j.exit(0, 0)
		view := s.ask(s.t.Context(), "").text
		if len(view) > maxOutput+200 || len(view) < maxOutput-200 {
			s.t.Errorf("a view of %d characters", len(view))
		}
		head, rest, _ := strings.Cut(view, "\n[")
		var bytes, lines, offset int64
		if _, err := fmt.Sscanf(rest, "%d lines (%d bytes) omitted: TaskOutput with offset %d]", &lines, &bytes, &offset); err != nil {
			s.t.Fatal(err)
		}
		_, got, _ := strings.Cut(head+"\n", "\n") // without the status
		if int64(len(got)) != offset || lines*10 != bytes {
			s.t.Errorf("a gap of %d bytes and %d lines from %d on behind %d bytes", bytes, lines, offset, len(got))
		}
		for more := true; more; {
			r := s.ask(s.t.Context(), fmt.Sprintf(`, "offset": %d`, offset))
			_, text, _ := strings.Cut(r.text, "\n")
			text, note, _ := strings.Cut(text, "[")
			more, offset = r.meta[MetaMore].(bool), r.meta[MetaNextOffset].(int64)
			if want := fmt.Sprintf("next offset %d; there is more now]", offset); more && note != want {
				s.t.Errorf("it ends in %q, not %q", note, want)
			}
			got += text
		}
		if got != all.String() {
			s.t.Errorf("got %d bytes of %d", len(got), all.Len())
		}
	})
}

// TestMissing checks that output dropped from the log is reported, and that the output
// after it is shown.
func TestMissing(t *testing.T) {
	p := printerWith(t, spool.Quota{Task: 8, All: 1 << 20})
	w, r := toolstest.NewWorkspace(t), tasks.New(time.Now)
	id := add(t, r, me, newJob(p, "make"))
	p.print(t, "one\ntwo\n"+strings.Repeat("x\n", 128<<10)+"los\nend\n")
	tool := NewOutput(Options{Tasks: r, MaxOutput: 5})
	for _, tc := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"offset": 4}, "two\n[next offset 8; there is more now]"},
		{map[string]any{"offset": 8}, "[8 bytes were not kept]\nx\nx\n[next offset 20; there is more now]"},
		{map[string]any{"offset": 8, "filter": "^end"}, "[8 bytes were not kept]\nend\n[next offset 262160; there is no more yet]"},
	} {
		tc.args["task_id"], tc.args["block"] = id, false
		resp, err := call(t.Context(), t, w, tool, tc.args)
		if err != nil {
			t.Fatal(err)
		}
		if _, got, _ := strings.Cut(toolstest.Text(resp), "\n"); got != tc.want {
			t.Errorf("%v: %s", tc.args, got)
		}
	}
}

// TestStopCancelled checks that a cancelled TaskStop returns, and that the task is ended
// all the same.
func TestStopCancelled(t *testing.T) {
	play(t, func(s *scene) {
		s.j.hang = make(chan struct{})
		ctx, cancel := context.WithCancel(s.t.Context())
		s.after(time.Second, cancel)
		_, err := call(ctx, s.t, s.w, NewStop(Options{Tasks: s.r}), map[string]any{"task_id": s.id})
		if !errors.Is(err, context.Canceled) {
			s.t.Error(err)
		}
		close(s.j.hang)
		synctest.Wait()
		s.wants(s.ask(s.t.Context(), ""), 0, "Task $ID: stopped by TaskStop\n[no output]")
	})
}

// TestStopWhileWaiting checks that a call that waits for a task ends when the task is
// stopped.
func TestStopWhileWaiting(t *testing.T) {
	play(t, func(s *scene) {
		stopped := make(chan struct{})
		s.after(time.Second, func() {
			defer close(stopped)
			resp, err := call(s.t.Context(), s.t, s.w, NewStop(Options{Tasks: s.r}), map[string]any{"shell_id": s.id})
			if err != nil || resp.Meta[MetaStatus] != tasks.Stopped {
				s.t.Errorf("%v, %v", resp, err)
			}
		})
		s.wants(s.ask(s.t.Context(), ""), time.Second, "Task $ID: stopped by TaskStop\n[no output]")
		<-stopped
	})
}
