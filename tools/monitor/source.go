package monitor

import (
	"fmt"
	"sync"
	"time"

	"mcp-toolset/internal/exec/spool"
	tasks "mcp-toolset/internal/exec/task"
)

// Running ends the monitors of files and tasks at the end of the server. It is safe for
// concurrent use. The zero value is ready.
type Running struct {
	mu  sync.Mutex
	all map[*source]bool
}

// Close ends the monitors and waits for their end.
func (r *Running) Close() error {
	r.mu.Lock()
	var all []*source
	for s := range r.all {
		all = append(all, s)
	}
	r.mu.Unlock()
	for _, s := range all {
		s.end(tasks.Stopped, "stopped: the server is ending")
	}
	for _, s := range all {
		<-s.done
	}
	return nil
}

// source is the job of a monitor that runs no command. What feeds its log must call finish
// after ending is closed.
type source struct {
	running *Running
	title   string
	log     *spool.Log
	shared  bool // whether the log belongs to another task
	began   time.Time
	ending  chan struct{} // closed by the first end
	done    chan struct{}
	timer   *time.Timer // ends the job at its timeout; nil: none

	mu     sync.Mutex
	status tasks.Status // zero until the first end
}

// newSource returns a source that ends after limit, if that is not 0.
func newSource(r *Running, limit time.Duration, log *spool.Log) *source {
	s := &source{running: r, log: log, began: time.Now(), ending: make(chan struct{}), done: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[*source]bool{}
	}
	r.all[s] = true
	if limit > 0 {
		s.timer = time.AfterFunc(limit, func() { s.end(tasks.TimedOut, fmt.Sprintf("timed out after %v", limit)) })
	}
	return s
}

// end makes the job end, unless that was done before.
func (s *source) end(state tasks.State, detail string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status.State == "" {
		s.status = tasks.Status{State: state, Detail: detail, Started: s.began, Ended: time.Now()}
		close(s.ending)
	}
}

// finish reports that the job has ended.
func (s *source) finish() {
	if s.timer != nil {
		s.timer.Stop()
	}
	s.running.mu.Lock()
	delete(s.running.all, s)
	s.running.mu.Unlock()
	close(s.done)
}

func (s *source) Kind() string          { return "monitor" }
func (s *source) Title() string         { return s.title }
func (s *source) Done() <-chan struct{} { return s.done }
func (s *source) Output() *spool.Log    { return s.log }

func (s *source) Status() tasks.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !closed(s.done) {
		return tasks.Status{State: tasks.Running, Detail: "running", Started: s.began}
	}
	return s.status
}

func (s *source) Stop(why string) error {
	s.end(tasks.Stopped, "stopped by "+why)
	<-s.done
	return nil
}

// Release deletes the output, unless it belongs to another task.
func (s *source) Release() {
	if !s.shared {
		_ = s.log.Remove()
	}
}

var _ tasks.Job = (*source)(nil)
