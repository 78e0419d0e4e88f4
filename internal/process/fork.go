package process

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// forker is a thread that starts processes and lives as long as its Runner: the
// kernel takes the end of the thread that started a process for that of its
// parent.
type forker struct {
	work   chan func()
	thread atomic.Int64 // its number; 0: not known yet
}

func newForker() *forker {
	f := &forker{work: make(chan func())}
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		f.thread.Store(int64(threadID()))
		for fn := range f.work {
			fn()
		}
	}()
	return f
}

func (f *forker) stop() { close(f.work) }

// fork runs start on the thread that starts processes. If ctx ends earlier it
// returns the cause, and late is called in the background when start has
// returned: a process can hang before it becomes another program, in an emulator
// or in a file system that does not answer, and start waits for it. Such a
// process is killed.
func (r *Runner) fork(ctx context.Context, start func() error, late func(error)) error {
	f := r.forkerNow()
	done := make(chan error, 1)
	select {
	case f.work <- func() { done <- start() }:
	case <-ctx.Done():
		late(context.Cause(ctx))
		return context.Cause(ctx)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	r.replace(f)
	r.log.Debug("a process hangs before it becomes a supervisor")
	go func() {
		again := time.NewTicker(answerWait)
		defer again.Stop()
		for {
			killHalfStarted(int(f.thread.Load()))
			select {
			case err := <-done:
				late(err)
				return
			case <-again.C:
			}
		}
	}()
	return context.Cause(ctx)
}

func (r *Runner) forkerNow() *forker {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forker == nil {
		r.forker = newForker()
	}
	return r.forker
}

// replace has the next processes started on another thread. The thread with one
// that hangs stays, since the supervisors that it has started end with it.
func (r *Runner) replace(f *forker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forker == f {
		r.forker = nil
		r.stale = append(r.stale, f)
	}
}
