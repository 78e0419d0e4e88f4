// Package lossy writes a log without waiting for its reader. Lines that do not
// fit into the buffer are dropped and counted.
package lossy

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"time"
)

// maxBuffered is the limit of buffered data, in bytes.
const maxBuffered = 1 << 20

// Writer passes on data in order, from a goroutine of its own. It is safe for
// concurrent use.
type Writer struct {
	out io.Writer

	mu      sync.Mutex
	waiting []byte
	dropped int           // number of writes since the last report
	idle    chan struct{} // closed when nothing is being written; nil before the first Write
}

// New returns a Writer that passes data on to out. It starts no goroutine.
func New(out io.Writer) *Writer { return &Writer{out: out} }

// Write buffers all of p or drops all of it. It never fails. p should be a
// whole line.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// After a drop, nothing is accepted until the report is added, so that the
	// report stands where lines are missing.
	if w.dropped > 0 || len(w.waiting)+len(p) > maxBuffered {
		w.dropped++
		return len(p), nil
	}
	w.waiting = append(w.waiting, p...)
	if w.idle == nil || isClosed(w.idle) {
		w.idle = make(chan struct{})
		go w.pass(w.idle)
	}
	return len(p), nil
}

// pass writes until the buffer is empty.
func (w *Writer) pass(idle chan struct{}) {
	for {
		w.mu.Lock()
		p, dropped := w.waiting, w.dropped
		w.waiting, w.dropped = nil, 0
		if len(p) == 0 && dropped == 0 {
			close(idle)
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		if dropped > 0 {
			p = append(p, report(dropped)...)
		}
		_, _ = w.out.Write(p) // an error cannot be reported anywhere else
	}
}

// report returns a log line on the number of dropped lines.
func report(n int) []byte {
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, nil)).Warn("lines of this log were dropped, because its reader was too slow", "count", n)
	return b.Bytes()
}

// Flush waits until everything accepted is written, but no longer than limit.
func (w *Writer) Flush(limit time.Duration) {
	w.mu.Lock()
	idle := w.idle
	w.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-time.After(limit):
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
