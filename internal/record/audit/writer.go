package audit

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// mostWaiting is the limit of waiting lines: several times the number of
	// calls that a server runs at once.
	mostWaiting = 256
	// mostBatch is the limit of lines that are written together with the first,
	// in bytes. Lines that arrive while the disk is busy share the next write.
	mostBatch = 256 << 10
	// syncEvery is the longest time that a written line is not synced under
	// Interval.
	syncEvery = time.Second
)

var (
	// ErrTime is the error for a line that was not written before the timeout.
	ErrTime = errors.New("the disk does not answer")
	// ErrClosed is the error of Write after Close.
	ErrClosed = errors.New("the audit log is closed")
)

// sink is the destination of lines. One goroutine calls its methods, which may
// hang.
type sink interface {
	append(lines []byte) error // lines must be complete
	sync() error               // syncs to the disk
	close() error
}

// writer passes lines to a sink in order of arrival. It does so in a goroutine
// of its own, so that callers can give up on a sink that hangs.
type writer struct {
	sink    sink
	policy  Sync
	timeout time.Duration
	onError func(error) // receives errors that no caller gets

	queue   chan *job
	closing chan struct{} // closed when no more jobs are accepted
	done    chan struct{} // closed when no more jobs are written
	failed  error         // error of the last sync and close; read it only after done
	began   atomic.Int64  // start of the running call of the sink, in Unix ns; 0 if there is none
}

// job is a line to write.
type job struct {
	line  []byte
	state atomic.Int32
	done  chan error
}

// States of a job. Whoever changes the state from waiting owns the job.
const (
	waiting   int32 = iota
	claimed         // by the writer
	abandoned       // by the caller, who gave up
)

func newWriter(s sink, policy Sync, timeout time.Duration, trouble func(error)) *writer {
	w := &writer{
		sink: s, policy: policy, timeout: timeout, onError: trouble,
		queue: make(chan *job, mostWaiting), closing: make(chan struct{}), done: make(chan struct{}),
	}
	go w.run()
	return w
}

// write returns when the line is written, or with an error if that failed or
// timed out. After a timeout, the line may still be written.
func (w *writer) write(line []byte) error {
	select {
	case <-w.closing:
		return ErrClosed
	default:
	}
	if began := w.began.Load(); began != 0 && time.Since(time.Unix(0, began)) >= w.timeout {
		return ErrTime // do not wait for a sink that is known to hang
	}
	timer := time.NewTimer(w.timeout)
	defer timer.Stop()
	j := &job{line: line, done: make(chan error, 1)}
	select {
	case w.queue <- j:
	case <-w.done:
		return ErrClosed
	case <-timer.C:
		return ErrTime
	}
	select {
	case err := <-j.done:
		return err
	case <-w.done:
		select {
		case err := <-j.done:
			return err
		default:
			return ErrClosed // it arrived after the last batch
		}
	case <-timer.C:
		if !j.state.CompareAndSwap(waiting, abandoned) {
			select {
			case err := <-j.done: // it ended just now
				return err
			default:
			}
		}
		return ErrTime
	}
}

// close writes the waiting lines and closes the sink, or gives up after the
// timeout. It must be called only once.
func (w *writer) close() error {
	close(w.closing)
	timer := time.NewTimer(w.timeout)
	defer timer.Stop()
	select {
	case <-w.done:
		return w.failed
	case <-timer.C:
		return ErrTime
	}
}

func (w *writer) run() {
	defer close(w.done)
	var tick <-chan time.Time // time of the next sync; nil if there is nothing to sync
	for {
		select {
		case j := <-w.queue:
			if w.batch(j) && w.policy == Interval && tick == nil {
				tick = time.After(syncEvery)
			}
		case <-tick:
			tick = nil
			if err := w.ask(w.sink.sync); err != nil {
				w.onError(fmt.Errorf("syncing: %w", err))
			}
		case <-w.closing:
			w.finish(tick != nil)
			return
		}
	}
}

// finish writes the waiting lines, then syncs and closes the sink.
func (w *writer) finish(dirty bool) {
	for {
		select {
		case j := <-w.queue:
			dirty = w.batch(j) && w.policy == Interval || dirty
			continue
		default:
		}
		break
	}
	if dirty {
		w.failed = w.ask(w.sink.sync)
	}
	w.failed = errors.Join(w.failed, w.ask(w.sink.close))
}

// batch writes a line and those waiting after it, and sends each its error. It
// reports whether something was written.
func (w *writer) batch(j *job) bool {
	var jobs []*job
	var lines []byte
	for more := true; more; {
		if j.state.CompareAndSwap(waiting, claimed) {
			if jobs = append(jobs, j); lines == nil {
				lines = j.line // usually there is only one line
			} else {
				lines = append(lines, j.line...)
			}
		}
		if more = len(lines) < mostBatch; more {
			select {
			case j = <-w.queue:
			default:
				more = false
			}
		}
	}
	if len(jobs) == 0 {
		return false
	}
	err := w.ask(func() error {
		if err := w.sink.append(lines); err != nil || w.policy != Always {
			return err
		}
		return w.sink.sync()
	})
	for _, j := range jobs {
		j.done <- err
	}
	return err == nil
}

// ask calls f, which uses the sink, and records when the call began.
func (w *writer) ask(f func() error) error {
	w.began.Store(time.Now().UnixNano())
	defer w.began.Store(0)
	return f()
}
