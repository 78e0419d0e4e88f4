package process

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// forker is a thread that starts processes, one at a time. It lives at least as
// long as each process that it started: the kernel treats the end of the thread
// that started a process as the death of its parent.
type forker struct {
	work     chan *startJob
	replaced chan struct{} // closed when another thread starts the next processes
	quit     chan struct{} // closed when the thread is no longer needed
	users    int           // starts and live processes; guarded by Runner.mu

	mu      sync.Mutex
	current *startJob // the start in progress; nil: none
	thread  int       // the thread's id; 0: unknown
}

// startJob is the start of one process.
type startJob struct {
	start func() error
	done  chan error
}

func newForker() *forker {
	f := &forker{work: make(chan *startJob), replaced: make(chan struct{}), quit: make(chan struct{})}
	go f.run()
	return f
}

func (f *forker) run() {
	runtime.LockOSThread() // never unlocked, so that the thread ends with the goroutine
	id := threadID()
	for {
		select {
		case j := <-f.work:
			f.set(j, id)
			err := j.start()
			f.set(nil, id)
			j.done <- err
		case <-f.quit:
			return
		}
	}
}

func (f *forker) set(j *startJob, thread int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.current, f.thread = j, thread
}

// kill kills the process that j starts unless it already runs another program. The
// lock prevents the thread from beginning another job meanwhile.
func (f *forker) kill(j *startJob) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current == j {
		killHalfStarted(f.thread)
	}
}

// fork runs start on the thread that starts processes. A process can hang before it
// executes its program, in an emulator or in a file system that does not answer,
// and start waits for it. Such a start delays the others for r.hang at most: then
// they use another thread.
//
// If fork returns a forker, the process runs, and the caller releases the forker
// when the process has ended. If ctx ends earlier, fork returns the cause. continues
// then reports whether start continues in the background; if so, fork has its
// process killed, and calls late with the error of start.
func (r *Runner) fork(ctx context.Context, start func() error, late func(error)) (_ *forker, continues bool, err error) {
	j := &startJob{start: start, done: make(chan error, 1)}
	f, err := r.assign(ctx, j)
	if err != nil {
		return nil, false, err
	}
	hang := time.NewTimer(r.hang)
	for {
		select {
		case err := <-j.done:
			hang.Stop()
			if err != nil {
				r.release(f)
				return nil, false, err
			}
			return f, false, nil
		case <-hang.C:
			r.log.Debug("a process hangs before it becomes a supervisor")
			r.replace(f)
		case <-ctx.Done():
			go r.outlast(f, j, hang, late)
			return nil, true, context.Cause(ctx)
		}
	}
}

// assign gives a job to a thread that is free.
func (r *Runner) assign(ctx context.Context, j *startJob) (*forker, error) {
	for {
		f := r.hold()
		select {
		case f.work <- j:
			return f, nil
		case <-f.replaced:
			r.release(f)
		case <-ctx.Done():
			r.release(f)
			return nil, context.Cause(ctx)
		}
	}
}

// outlast waits for a start whose caller has given up. It kills the process
// repeatedly until start returns.
func (r *Runner) outlast(f *forker, j *startJob, hang *time.Timer, late func(error)) {
	defer hang.Stop()
	defer r.release(f)
	again := time.NewTicker(answerWait)
	defer again.Stop()
	for {
		f.kill(j)
		select {
		case err := <-j.done:
			late(err)
			return
		case <-hang.C:
			r.replace(f)
		case <-again.C:
		}
	}
}

// hold returns the thread that starts the next process, and adds a user to it. The
// thread lives at least until release.
func (r *Runner) hold() *forker {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forker == nil {
		r.forker = newForker()
	}
	r.forker.users++
	return r.forker
}

// release removes a user of a thread. It ends the thread if it was replaced and has
// no user left.
func (r *Runner) release(f *forker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.users--; f.users == 0 && f != r.forker {
		close(f.quit)
	}
}

// replace makes another thread start the next processes. The replaced thread, in
// which a start hangs, lives until it has no users.
func (r *Runner) replace(f *forker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f == nil || f != r.forker {
		return
	}
	r.forker = nil
	close(f.replaced)
	if f.users == 0 {
		close(f.quit)
	}
}
