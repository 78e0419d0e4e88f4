package task

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcp-toolset/internal/exec/spool"
	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/session"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// me is the owner of the tasks that toolstest's session starts.
var me = session.Owner{Session: "test"}

// printer is an output log with the command's end of its pipe.
type printer struct {
	mu  sync.Mutex // timers print
	log *spool.Log
	w   *os.File
	n   int64
}

// newPrinter returns a printer that ends with the test. It must be made outside of a
// synctest bubble, since reading a pipe would stop the bubble's clock.
func newPrinter(t *testing.T) *printer { return printerWith(t, spool.DefaultQuota) }

func printerWith(t *testing.T, quota spool.Quota) *printer {
	t.Helper()
	store := spool.NewStore(filepath.Join(t.TempDir(), "state", "output"), quota, time.Now)
	log, err := store.New("task")
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = log.Pump(r) }()
	t.Cleanup(func() {
		w.Close()
		<-log.Done()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &printer{log: log, w: w}
}

// print writes text and returns when the log has it.
func (p *printer) print(t *testing.T, text string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.w.WriteString(text); err != nil {
		t.Fatal(err)
	}
	p.n += int64(len(text))
	for n := int64(0); n < p.n; n, _ = p.log.Bytes() {
		runtime.Gosched()
	}
}

// job is a job that ends when a test ends it.
type job struct {
	*printer
	title   string
	done    chan struct{}
	stopErr error
	hang    chan struct{} // Stop waits for it

	mu     sync.Mutex
	status tasks.Status
}

func newJob(p *printer, title string) *job {
	return &job{printer: p, title: title, done: make(chan struct{}), status: tasks.Status{State: tasks.Running, Detail: "running", Started: time.Now()}}
}

func (j *job) Kind() string          { return "shell" }
func (j *job) Title() string         { return j.title }
func (j *job) Done() <-chan struct{} { return j.done }
func (j *job) Output() *spool.Log    { return j.log }
func (j *job) Release()              { _ = j.log.Remove() }

func (j *job) Status() tasks.Status {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.status
}

func (j *job) Stop(why string) error {
	if j.hang != nil {
		<-j.hang
	}
	if j.stopErr == nil && !hasEnded(&tasks.Task{Job: j}) {
		j.end(tasks.Status{State: tasks.Stopped, Detail: "stopped by " + why, Ended: time.Now()})
	}
	return j.stopErr
}

// end ends the job with status s.
func (j *job) end(s tasks.Status) {
	j.w.Close()
	<-j.log.Done()
	j.mu.Lock()
	defer j.mu.Unlock()
	s.Started = j.status.Started
	j.status = s
	close(j.done)
}

// exit ends the job with an exit code.
func (j *job) exit(code int, ago time.Duration, notes ...string) {
	s := tasks.Status{State: tasks.Completed, Exited: true, Code: code, Detail: "exit code 0", Notes: notes, Ended: time.Now().Add(-ago)}
	if code != 0 {
		s.State, s.Detail = tasks.Failed, "exit code 3"
	}
	j.end(s)
}

func add(t *testing.T, r *tasks.Registry, o session.Owner, j tasks.Job) string {
	t.Helper()
	task, err := r.Add(o, j)
	if err != nil {
		t.Fatal(err)
	}
	return task.ID
}

// call runs a call with the arguments in a map.
func call(ctx context.Context, t *testing.T, w *toolstest.Workspace, tool *tools.Tool, args map[string]any) (*tools.Response, error) {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return w.Call(ctx, tool, string(data))
}
