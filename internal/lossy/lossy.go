// Package lossy writes a log without ever waiting for its reader: what the reader
// leaves no room for is dropped and counted.
package lossy

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"time"
)

// room is how much may wait to be written, in bytes.
const room = 1 << 20

// Writer passes on what is written to it, in order, from a goroutine of its own. It
// is safe for concurrent use.
type Writer struct {
	out io.Writer

	mu      sync.Mutex
	waiting []byte
	dropped int           // writes since the last report
	idle    chan struct{} // closed when nothing is being written; nil: nothing was yet
}

// New makes a Writer that passes on to out. It starts nothing.
func New(out io.Writer) *Writer { return &Writer{out: out} }

// Write takes all of p or drops all of it, and never fails. p is best a whole line.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// Between what was dropped and what follows stands the report.
	if w.dropped > 0 || len(w.waiting)+len(p) > room {
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

// pass writes until nothing waits.
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
		_, _ = w.out.Write(p) // there is nowhere else to say that it fails
	}
}

// report returns the log's line on what was dropped.
func report(n int) []byte {
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(&b, nil)).Warn("lines of this log were dropped, since nobody was reading it", "count", n)
	return b.Bytes()
}

// Flush waits until all that was taken is written, and not longer than limit.
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
