package task

import (
	"context"
	"time"

	tasks "mcp-toolset/internal/task"
	"mcp-toolset/tools"
)

const (
	// lookEvery is how often a call that waits looks whether there is more output:
	// seldom enough that a task that prints quickly is not answered line by line.
	lookEvery = 100 * time.Millisecond
	// tellEvery is how often a client is told how far a task is.
	tellEvery = time.Second
)

// waiter waits for a task, and tells of it meanwhile.
type waiter struct {
	env   *tools.Env
	task  *tasks.Task
	timer *time.Timer
	look  *time.Ticker
	past  bool

	began, told time.Time
	last        string // the last line, when so many bytes were printed:
	at          int64
}

// newWaiter makes a waiter for at most d.
func newWaiter(env *tools.Env, t *tasks.Task, d time.Duration) *waiter {
	now := env.Now()
	return &waiter{env: env, task: t, timer: time.NewTimer(d), look: time.NewTicker(lookEvery), past: d <= 0, began: now, told: now}
}

func (w *waiter) stop() {
	w.timer.Stop()
	w.look.Stop()
}

// over reports whether the time to wait is over.
func (w *waiter) over() bool {
	select {
	case <-w.timer.C:
		w.past = true
	default:
	}
	return w.past
}

// end waits until the task has ended or the time is over.
func (w *waiter) end(ctx context.Context) error {
	return w.until(ctx, func() bool { return false })
}

// more is the same, but waits no longer than until more than so many bytes
// are printed.
func (w *waiter) more(ctx context.Context, printed int64) error {
	return w.until(ctx, func() bool {
		now, _ := w.task.Output().Bytes()
		return now > printed
	})
}

func (w *waiter) until(ctx context.Context, met func() bool) error {
	for !w.past {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-w.task.Done():
			return nil
		case <-w.timer.C:
			w.past = true
		case <-w.look.C:
			w.tell()
			if met() {
				return nil
			}
		}
	}
	return nil
}

// tell tells a client that listens how far the task is. What grows is the time:
// a task that prints nothing lives too.
func (w *waiter) tell() {
	now := w.env.Now()
	if now.Sub(w.told) < tellEvery {
		return
	}
	w.told = now
	printed, _ := w.task.Output().Bytes()
	if printed != w.at {
		w.at, w.last = printed, w.task.Output().LastLine()
	}
	message := w.last
	switch {
	case message != "":
	case printed > 0:
		message = "running"
	default:
		message = "no output yet"
	}
	w.env.Progress(tools.Progress{Done: now.Sub(w.began).Seconds(), Message: message})
}
