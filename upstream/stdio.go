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

// Limits of a stdio server.
const (
	// maxAnswer bounds a line over stdio, and a response over HTTP.
	maxAnswer = 64 << 20
	// maxUnsent is what may wait for a server that does not read.
	maxUnsent = 64 << 20
	// maxWords is what is kept of what a server says on its standard error.
	maxWords = 4 << 10
	// closeWait is how long a server may take to end by itself when its input has
	// ended, endGrace how long when it was told to: a client kills us after half a
	// second.
	closeWait = 100 * time.Millisecond
	endGrace  = 150 * time.Millisecond
	// lastWords is how long the end of a server is waited for to tell how it ended.
	lastWords = 500 * time.Millisecond
)

// peer is a stdio server that runs: the streams to it and its words.
type peer struct {
	Process
	in    *queue
	out   *lines
	words words
	said  chan struct{} // closed when it says no more
}

// newPeer takes over a process. lost is called once, when it says no more.
func newPeer(p Process, log *slog.Logger, lost func(error)) *peer {
	out := &peer{Process: p, in: newQueue(p.Input()), said: make(chan struct{})}
	out.out = &lines{r: p.Output(), lost: lost}
	go func() {
		defer close(out.said)
		out.words.read(p.Errors(), log)
	}()
	return out
}

// epitaph says how the server ended, and its last words. It waits a moment for
// them.
func (p *peer) epitaph() string {
	late := time.NewTimer(lastWords)
	defer late.Stop()
	for _, end := range []<-chan struct{}{p.said, p.Done()} {
		select {
		case <-end:
		case <-late.C:
			return "it closed its output"
		}
	}
	text := "it ended " + p.How()
	if last := p.words.last(); last != "" {
		text += ": " + last
	}
	return text
}

// end ends the server: its input ends, then it is told, then it is killed.
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
	<-p.said
	<-p.in.done
}

// lines reads lines of bounded length.
type lines struct {
	r    io.Reader
	lost func(error)
	once sync.Once
	long int // what was read of the line
}

// Read reads until the server has closed its output or a line is too long.
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
		l.once.Do(func() { l.lost(cause) })
		if !errors.Is(err, errTooLong) {
			err = io.EOF // the library logs anything else as its own error
		}
	}
	return n, err
}

// queue writes without ever making the writer wait, for a server that does not
// read holds up nobody who cancels a call.
type queue struct {
	w    io.WriteCloser
	done chan struct{} // closed when nothing is written any more

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

// Write takes a message.
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

// Close ends the server's input; what was not read by then is dropped.
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
				return // its output ends as well
			}
			q.mu.Lock()
			q.size -= len(p)
			q.mu.Unlock()
		}
	}
}

// words are the last that a server says on its standard error.
type words struct {
	mu   sync.Mutex
	text []byte
}

// read reads to the end.
func (w *words) read(r io.Reader, log *slog.Logger) {
	in := bufio.NewReaderSize(r, maxWords)
	for {
		part, err := in.ReadSlice('\n') // of a line too long, a piece
		if len(part) > 0 {
			w.mu.Lock()
			w.text = append(w.text, part...)
			w.text = w.text[max(0, len(w.text)-maxWords):]
			w.mu.Unlock()
			if log.Enabled(context.Background(), slog.LevelDebug) {
				log.Debug("an upstream server says", "text", line(string(part)))
			}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// last is the line that most likely says what went wrong: the last that speaks of
// an error, else the last.
func (w *words) last() string {
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
