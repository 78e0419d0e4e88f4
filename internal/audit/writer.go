package audit

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// mostWaiting is how many lines wait to be written: a burst of all calls
	// that a server runs at once, many times over.
	mostWaiting = 256
	// mostBatch is how many bytes of lines are written in one go, beside the
	// first line: those that came while the disk was busy share its next turn.
	mostBatch = 256 << 10
	// syncEvery is how long a written line may be in memory only, at Interval.
	syncEvery = time.Second
)

var (
	// ErrTime says that a line was not seen to be written in time.
	ErrTime = errors.New("the disk does not answer")
	// ErrClosed is the error of Write after Close.
	ErrClosed = errors.New("the audit log is closed")
)

// sink is where lines go. Its methods are called by one goroutine and may hang.
type sink interface {
	append(lines []byte) error // whole lines
	sync() error               // to the disk
	close() error
}

// writer hands lines to a sink, in the order they come. A goroutine of its own
// does, so that who waits for a sink that hangs can go.
type writer struct {
	sink    sink
	policy  Sync
	timeout time.Duration
	trouble func(error) // told of what no caller is told

	queue   chan *job
	closing chan struct{} // closed: no more jobs come
	done    chan struct{} // closed: none is written any more
	failed  error         // of the last sync and close; read behind done
	began   atomic.Int64  // when the sink was asked last, in Unix ns; 0: it is not being asked
}

// job is a line to write.
type job struct {
	line  []byte
	state atomic.Int32
	done  chan error
}

// The states of a job: who moves it on from waiting has it.
const (
	waiting int32 = iota
	taken         // by the writer
	left          // by the caller, who no longer waits
)

func newWriter(s sink, policy Sync, timeout time.Duration, trouble func(error)) *writer {
	w := &writer{
		sink: s, policy: policy, timeout: timeout, trouble: trouble,
		queue: make(chan *job, mostWaiting), closing: make(chan struct{}), done: make(chan struct{}),
	}
	go w.run()
	return w
}

// write returns when the line is written, or with an error when that failed or
// the timeout is over. A line that hung may still come to be written.
func (w *writer) write(line []byte) error {
	select {
	case <-w.closing:
		return ErrClosed
	default:
	}
	if began := w.began.Load(); began != 0 && time.Since(time.Unix(0, began)) >= w.timeout {
		return ErrTime // nobody waits for what is known to hang
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
			return ErrClosed // it came behind the last
		}
	case <-timer.C:
		if !j.state.CompareAndSwap(waiting, left) {
			select {
			case err := <-j.done: // just now
				return err
			default:
			}
		}
		return ErrTime
	}
}

// close writes what is waiting and closes the sink, or gives up after the
// timeout. It is called once.
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
	var tick <-chan time.Time // when to sync; nil: all is on the disk, or need not be
	for {
		select {
		case j := <-w.queue:
			if w.batch(j) && w.policy == Interval && tick == nil {
				tick = time.After(syncEvery)
			}
		case <-tick:
			tick = nil
			if err := w.ask(w.sink.sync); err != nil {
				w.trouble(fmt.Errorf("syncing: %w", err))
			}
		case <-w.closing:
			w.finish(tick != nil)
			return
		}
	}
}

// finish writes what came before the end.
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

// batch writes a line and those that wait behind it, and answers. It reports
// whether something was written.
func (w *writer) batch(j *job) bool {
	var jobs []*job
	var lines []byte
	for more := true; more; {
		if j.state.CompareAndSwap(waiting, taken) {
			if jobs = append(jobs, j); lines == nil {
				lines = j.line // mostly there is no other
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

// ask calls f, of the sink, such that it is seen how long it takes.
func (w *writer) ask(f func() error) error {
	w.began.Store(time.Now().UnixNano())
	defer w.began.Store(0)
	return f()
}
