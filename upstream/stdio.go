package upstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Limits and timeouts of a stdio server.
const (
	// maxAnswer is the limit of a line over stdio and of a response over HTTP,
	// in bytes.
	maxAnswer = 64 << 20
	// maxUnsent is the limit of the messages that wait for a server that does
	// not read, in bytes.
	maxUnsent = 64 << 20
	// maxWords is the size of the stored end of a server's standard error, in
	// bytes.
	maxWords = 4 << 10
	// closeWait is the timeout for a server to end after its input has ended.
	// endGrace is the timeout after it was asked to end. Both are short because
	// a client kills us after half a second.
	closeWait = 100 * time.Millisecond
	endGrace  = 150 * time.Millisecond
	// stderrTimeout is the timeout for learning how a server has ended.
	stderrTimeout = 500 * time.Millisecond
)

// peer is a running stdio server with its streams.
type peer struct {
	Process
	in           *queue
	out          *lines
	tail         stderrTail
	stderrClosed chan struct{} // closed at the end of its standard error
}

// newPeer takes over a process. It calls lost once, when the output of the
// server ends or has a line that is too long.
func newPeer(p Process, log *slog.Logger, lost func(error)) *peer {
	out := &peer{Process: p, in: newQueue(p.Input()), stderrClosed: make(chan struct{})}
	out.out = &lines{r: p.Output(), onError: lost}
	go func() {
		defer close(out.stderrClosed)
		out.tail.read(p.Errors(), log)
	}()
	return out
}

// exitDescription describes how the server ended, with the last lines of its standard
// error. It waits up to stderrTimeout for the end.
func (p *peer) exitDescription() string {
	late := time.NewTimer(stderrTimeout)
	defer late.Stop()
	for _, end := range []<-chan struct{}{p.stderrClosed, p.Done()} {
		select {
		case <-end:
		case <-late.C:
			return "it closed its output"
		}
	}
	text := "it ended " + p.Ending()
	if last := p.tail.last(); last != "" {
		text += ": " + last
	}
	return text
}

// end ends the server: it closes its input, then asks it to end, then kills it.
func (p *peer) end() {
	_ = p.in.Close()
	wait := time.NewTimer(closeWait)
	defer wait.Stop()
	select {
	case <-p.Done():
	case <-wait.C:
		_ = p.End(endGrace)
	}
	_ = p.Output().Close()
	_ = p.Errors().Close()
	<-p.stderrClosed
	<-p.in.done
}

// lines limits the length of lines that are read.
type lines struct {
	r       io.Reader
	onError func(error)
	once    sync.Once
	long    int // bytes read of the present line
}

// Read reads until the server closes its output or a line is too long. It then
// calls lost.
func (l *lines) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if i := bytes.LastIndexByte(p[:n], '\n'); i >= 0 {
		l.long = n - i - 1
	} else {
		l.long += n
	}
	if l.long > maxAnswer {
		err = errTooLong
	}
	if err != nil {
		cause := err
		l.once.Do(func() { l.onError(cause) })
		if !errors.Is(err, errTooLong) {
			err = io.EOF // the library logs any other error
		}
	}
	return n, err
}

// queue writes messages without blocking its caller, so that a server that does
// not read cannot block the cancelling of a call.
type queue struct {
	w    io.WriteCloser
	done chan struct{} // closed when writing has ended

	mu      sync.Mutex
	wake    chan struct{}
	pending [][]byte
	size    int
	closed  bool
}

func newQueue(w io.WriteCloser) *queue {
	q := &queue{w: w, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	go q.run()
	return q
}

// Write queues a message. It returns errNotSent if the queue is closed or full.
func (q *queue) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return 0, errNotSent
	case q.size > 0 && q.size+len(p) > maxUnsent:
		return 0, fmt.Errorf("the server does not read: %w", errNotSent)
	}
	q.pending = append(q.pending, bytes.Clone(p))
	q.size += len(p)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return len(p), nil
}

// Close closes the server's input. Messages that the server has not read are
// dropped.
func (q *queue) Close() error {
	q.mu.Lock()
	was := q.closed
	q.closed = true
	q.mu.Unlock()
	if was {
		return nil
	}
	close(q.wake)
	return q.w.Close()
}

func (q *queue) run() {
	defer close(q.done)
	for range q.wake {
		q.mu.Lock()
		batch := q.pending
		q.pending = nil
		q.mu.Unlock()
		for _, p := range batch {
			if _, err := q.w.Write(p); err != nil {
				return // the server's output ends as well
			}
			q.mu.Lock()
			q.size -= len(p)
			q.mu.Unlock()
		}
	}
}

// stderrTail holds the end of a server's standard error.
type stderrTail struct {
	mu   sync.Mutex
	text []byte
}

// read reads until the end.
func (w *stderrTail) read(r io.Reader, log *slog.Logger) {
	in := bufio.NewReaderSize(r, maxWords)
	for {
		part, err := in.ReadSlice('\n') // a part of the line if it is too long
		if len(part) > 0 {
			w.mu.Lock()
			w.text = append(w.text, part...)
			w.text = w.text[max(0, len(w.text)-maxWords):]
			w.mu.Unlock()
			if log.Enabled(context.Background(), slog.LevelDebug) {
				log.Debug("an upstream server wrote to its standard error", "text", line(string(part)))
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// last returns the line that most likely describes what went wrong: the last
// one that is not indented and mentions an error, otherwise the last one.
func (w *stderrTail) last() string {
	w.mu.Lock()
	text := string(w.text)
	w.mu.Unlock()
	best, about := "", false
	for l := range strings.Lines(text) {
		is := strings.Contains(strings.ToLower(l), "error") && strings.TrimLeft(l, " \t") == l
		if strings.TrimSpace(l) != "" && (is || !about) {
			best, about = l, is
		}
	}
	return line(best)
}
