package task

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/text/terminal"
	"mcp-toolset/policy"
	"mcp-toolset/tools/toolstest"
)

// reader is a job with an input.
type reader struct {
	*job
	send            func(context.Context, []byte) (int, error)
	screen          *terminal.Emulator
	contained, left bool
	closed          bool
}

func (r *reader) Send(ctx context.Context, input []byte) (int, error) { return r.send(ctx, input) }
func (r *reader) HasInput() bool                                      { return true }
func (r *reader) CloseInput() error                                   { r.closed = true; return nil }
func (r *reader) Terminal() *terminal.Emulator                        { return r.screen }
func (r *reader) Containment() (contained, left bool)                 { return r.contained, r.left }

var _ tasks.Receiver = (*reader)(nil)

// TestInput checks the answers for what a task does with its input.
func TestInput(t *testing.T) {
	const head = "Task $TASK: running, "
	for _, one := range []struct {
		name   string
		print  string // by the task while it takes the input
		taken  int
		err    error // of Send
		eof    bool
		want   string
		took   time.Duration
		failed bool
	}{
		{name: "quiet", taken: 3, want: head + "0 s\n[no output since]\n[next offset 7]", took: 300 * time.Millisecond},
		{name: "output", taken: 3, print: "new\n", want: head + "0 s\nnew\n[next offset 11]", took: 300 * time.Millisecond},
		{name: "end", taken: 3, eof: true, want: head + "0 s\n[no output since]\n[next offset 7]", took: 300 * time.Millisecond},
		{name: "binary", taken: 3, print: strings.Repeat("\x00\x01\xff\xfe", 100), want: head + "0 s\n[binary output, 400 bytes, not shown; it is in $LOG]\n[next offset 407]", took: 300 * time.Millisecond},
		{name: "long", taken: 3, print: strings.Repeat("line\n", 100), want: head + "0 s\nline\n[93 lines (465 bytes) omitted: TaskOutput with offset 12]\nline\nline\nline\nline\nline\nline\n[next offset 507]", took: 300 * time.Millisecond},
		{name: "not read", taken: 2, err: os.ErrDeadlineExceeded, eof: true, failed: true, took: takeWait + 300*time.Millisecond,
			want: head + "5 s\n[the task does not read: it has taken 2 of 3 bytes, and its input is not closed]\n[no output since]\n[next offset 7]"},
		{name: "closed", err: os.ErrClosed, want: "error: the input of the background task $TASK is closed; it has taken 0 of 3 bytes. TaskOutput shows the state of the task."},
		{name: "not open", taken: 1, err: syscall.EPIPE, want: "error: the input of the background task $TASK is closed; it has taken 1 of 3 bytes. TaskOutput shows the state of the task."},
		{name: "failed", err: syscall.EIO, want: "error: the input could not be written: input/output error. TaskOutput shows the state of the task."},
	} {
		t.Run(one.name, func(t *testing.T) {
			w, p := toolstest.NewWorkspace(t), newPrinter(t)
			synctest.Test(t, func(t *testing.T) {
				r := tasks.New(time.Now)
				j := &reader{job: newJob(p, "cat")}
				j.print(t, "before\n")
				j.send = func(ctx context.Context, input []byte) (int, error) {
					if one.print != "" {
						j.print(t, one.print)
					}
					if errors.Is(one.err, os.ErrDeadlineExceeded) {
						<-ctx.Done()
					}
					return one.taken, one.err
				}
				id := add(t, r, me, j)
				begun := time.Now()
				resp, err := call(t.Context(), t, w, NewInput(Options{Tasks: r, MaxOutput: 40}), map[string]any{"task_id": id, "text": "in\n", "eof": one.eof})
				got := ""
				if err != nil {
					got = "error: " + err.Error()
				} else {
					got = toolstest.Text(resp)
				}
				got = strings.NewReplacer(id, "$TASK", j.log.Path(), "$LOG").Replace(got)
				if took := time.Since(begun); got != one.want || err == nil && resp.Failed != one.failed || took != one.took || j.closed != (one.eof && !one.failed) {
					t.Errorf("after %v, closed: %v\n--- got\n%s\n--- want\n%s", took, j.closed, got, one.want)
				}
			})
		})
	}
}

// TestInputUncontained checks that input to a task outside of the sandbox asks.
func TestInputUncontained(t *testing.T) {
	w, p := toolstest.NewWorkspace(t), newPrinter(t)
	r := tasks.New(time.Now)
	j := &reader{job: newJob(p, "cat")}
	tool := NewInput(Options{Tasks: r})
	call, err := tool.Parse(json.RawMessage(`{"task_id":"` + add(t, r, me, j) + `","text":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	const reason = "the task runs outside of the sandbox, and its input could make it do anything"
	for _, one := range []struct {
		contained, left bool
		want            *policy.Decision
	}{
		{true, false, nil},
		{false, false, &policy.Decision{Behavior: policy.Ask, Reason: reason, Next: "ask the user to allow it, for good by the rule TaskInput in the settings"}},
		{false, true, &policy.Decision{Behavior: policy.Ask, Layer: policy.LayerSandbox, Reason: reason, Next: "start the task without dangerouslyDisableSandbox"}},
	} {
		j.contained, j.left = one.contained, one.left
		got := toolstest.Prepare(t, call, w.Env()).Check(w.Env())
		if (got == nil) != (one.want == nil) || got != nil && (got.Behavior != one.want.Behavior || got.Layer != one.want.Layer || got.Reason != one.want.Reason || got.Next != one.want.Next) {
			t.Errorf("%+v: %+v", one, got)
		}
	}
}
