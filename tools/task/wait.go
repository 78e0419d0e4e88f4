package task

import (
	"context"
	"time"

	tasks "mcp-toolset/internal/exec/task"
	"mcp-toolset/tools"
)

const (
	// lookEvery is the interval at which a waiting call checks for more output. It is long
	// enough that a task with fast output is not answered line by line.
	lookEvery = 100 * time.Millisecond
	// tellEvery is the interval of progress reports to a client.
	tellEvery = time.Second
)

// waiter waits for a task and reports progress meanwhile.
type waiter struct {
	env   *tools.Env
	task  *tasks.Task
	timer *time.Timer
	look  *time.Ticker
	past  bool

	began, told time.Time
	last        string // last line of the output when it had at bytes
	at          int64
}

// newWaiter returns a waiter with timeout d.
func newWaiter(env *tools.Env, t *tasks.Task, d time.Duration) *waiter {
	now := time.Now()
	return &waiter{env: env, task: t, timer: time.NewTimer(d), look: time.NewTicker(lookEvery), past: d <= 0, began: now, told: now}
}

func (w *waiter) stop() {
	w.timer.Stop()
	w.look.Stop()
}

// over reports whether the timeout has passed.
func (w *waiter) over() bool {
	select {
	case <-w.timer.C:
		w.past = true
	default:
	}
	return w.past
}

// end waits until the task has ended or the timeout has passed.
func (w *waiter) end(ctx context.Context) error {
	return w.until(ctx, func() bool { return false })
}

// more is like end, but also returns once the output exceeds printed bytes.
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

// tell reports progress to a client that asked for it. The progress is the elapsed time,
// since a task without output makes progress too.
func (w *waiter) tell() {
	now := time.Now()
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
