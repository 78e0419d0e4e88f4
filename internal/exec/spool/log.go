package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// chunk is the size of reads, in bytes.
	chunk = 256 << 10
	// tailSize is the size of the end of the output held in memory after storing stopped, in bytes.
	tailSize = 256 << 10
	// trimmed is the size to which Trim reduces it, in bytes.
	trimmed = 12 << 10
)

// ErrRemoved means that the file of a log was removed, by Remove or to make room.
var ErrRemoved = errors.New("the output is not kept any more")

// Log is the output log of one command. It is safe for concurrent use; one Pump fills it.
type Log struct {
	store    *Store
	path     string
	identity os.FileInfo
	out      io.Writer // file, except in tests
	tap      io.Writer // gets the output too; nil: none
	full     chan struct{}
	done     chan struct{}

	reading sync.Mutex // held while output is neither in the pipe nor in the log

	mu       sync.Mutex
	file     *os.File // nil once the log is done
	in       *os.File // the pipe that Pump reads
	broken   bool     // whether Finish has given up waiting for the end of in
	size     int64    // bytes of output so far
	stored   int64    // bytes in the file
	lines    int64    // newlines in the output
	tail     *ring    // output that is not in the file; nil while storing works
	storeErr error    // why storing stopped
	removed  bool
}

// Tap makes Pump write the output to w, too, whose Write must not block or fail. Tap must be called
// before Pump.
func (l *Log) Tap(w io.Writer) { l.tap = w }

// Pump reads output from the read end of a pipe, until its end or Finish, and closes it. It
// continues to read after storing has stopped, so that the command never blocks. It must be called
// once.
func (l *Log) Pump(r *os.File) error {
	defer r.Close()
	defer l.finish()
	if l.tap == nil { // it may be slow, and the rest has to be read soon after the end
		enlarge(r)
	}
	l.mu.Lock()
	l.in = r
	if l.broken {
		_ = r.SetReadDeadline(time.Unix(1, 0))
	}
	l.mu.Unlock()
	buf := make([]byte, chunk)
	for {
		err := l.readSome(r, buf)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, os.ErrDeadlineExceeded):
			return nil
		case err != nil:
			return fmt.Errorf("reading output: %w", err)
		}
	}
}

// Finish must be called after the command has ended. It waits for the end of the output, but at
// most wait, since a process outside the process tree may hold the pipe.
func (l *Log) Finish(wait time.Duration) {
	select {
	case <-l.done:
		return
	case <-time.After(wait):
	}
	l.mu.Lock()
	l.broken = true
	if l.in != nil {
		_ = l.in.SetReadDeadline(time.Unix(1, 0))
	}
	l.mu.Unlock()
	<-l.done
}

// finish closes the file for writing. It remains readable.
func (l *Log) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.file.Close()
	l.file = nil
	close(l.done)
	l.store.store.Release(l.path)
}

// append stores output.
func (l *Log) append(p []byte) {
	if len(p) == 0 {
		return
	}
	if l.tap != nil {
		_, _ = l.tap.Write(p)
	}
	l.mu.Lock()
	stored, stopped := l.stored, l.storeErr != nil
	l.mu.Unlock()
	n := 0
	var why error
	if !stopped {
		n, why = l.write(stored, p)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stored += int64(n)
	l.size += int64(len(p))
	l.lines += int64(bytes.Count(p, []byte{'\n'}))
	if why != nil {
		l.storeErr = why
		l.tail = newRing(l.stored)
	}
	if l.tail != nil {
		l.tail.write(p[n:])
	}
	if before := l.size - int64(len(p)); before <= l.store.quota.Task && l.size > l.store.quota.Task {
		close(l.full)
	}
}

// Trim reduces the output held in memory to its last few KB. It waits until the log is done.
func (l *Log) Trim() {
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tail != nil {
		l.tail = l.tail.last(trimmed)
	}
}

// Missing returns the number of bytes of output that are neither in the file nor in memory.
func (l *Log) Missing() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tail == nil {
		return 0
	}
	return l.tail.begin() - l.stored
}

// Content returns the whole output, unmodified. ok is false if it exceeds limit bytes or part of it
// is missing.
func (l *Log) Content(limit int64) (p []byte, ok bool, err error) {
	s, err := l.snapshot()
	if err != nil {
		return nil, false, err
	}
	defer s.close()
	if s.size > limit || s.resume > s.stored {
		return nil, false, nil
	}
	p = make([]byte, s.size)
	_, err = s.ReadAt(p, 0)
	return p, err == nil, err
}

// write writes as much of p to the file as there is room for.
func (l *Log) write(had int64, p []byte) (n int, why error) {
	room, why := l.store.reserve(had, int64(len(p)))
	n, err := l.out.Write(p[:room])
	l.store.store.Settle(room, int64(n))
	if err != nil {
		why = fmt.Errorf("storing output: %w", err)
	}
	return n, why
}

// Done returns a channel that is closed once all output has been read.
func (l *Log) Done() <-chan struct{} { return l.done }

func (l *Log) isDone() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// Full returns a channel that is closed once the output exceeds the quota of one command, stored or
// not. The command must then be stopped. Storing may stop earlier, which is no reason to stop the
// command: the end of its further output is held in memory, and all of it is counted.
func (l *Log) Full() <-chan struct{} { return l.full }

// Err returns why storing stopped early: ErrTaskQuota, ErrAllQuota or an error of the system. It
// returns nil if storing did not stop.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.storeErr
}

// Path returns the path of the file with the unmodified output.
func (l *Log) Path() string { return l.path }

// Bytes returns the size of the output so far, and how much of it is in the file.
func (l *Log) Bytes() (printed, stored int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size, l.stored
}

// Remove removes the log. It waits until the log is done. Later reads fail with ErrRemoved.
func (l *Log) Remove() error {
	<-l.done
	l.evict()
	return l.store.remove(l)
}

func (l *Log) evict() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removed = true
	l.tail = nil
}

// Mark is a place in a log, from Log.Mark.
type Mark struct{ offset, lines int64 }

// Offset returns the number of bytes before the mark.
func (m Mark) Offset() int64 { return m.offset }

// Mark returns the present end of the log.
func (l *Log) Mark() Mark {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Mark{l.size, l.lines}
}

// snapshot is the state of a log at one moment.
type snapshot struct {
	from                int64 // offset in the log at which the snapshot begins
	size, stored, lines int64
	final               bool
	resume              int64 // offset at which the output after stored is known again
	tail                []byte
	file                *os.File
}

// snapshot returns the present state. The caller must close it.
func (l *Log) snapshot() (*snapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.removed {
		return nil, ErrRemoved
	}
	s := &snapshot{size: l.size, stored: l.stored, lines: l.lines, final: l.isDone(), resume: l.stored}
	if l.tail != nil {
		s.resume, s.tail = l.tail.snapshot()
	}
	f, err := os.Open(l.path)
	if err != nil {
		return nil, fmt.Errorf("reading output: %w", err)
	}
	// Another file under this name is not read.
	if info, err := f.Stat(); err != nil || !os.SameFile(info, l.identity) {
		return nil, errors.Join(ErrRemoved, f.Close())
	}
	s.file = f
	return s, nil
}

func (s *snapshot) close() { _ = s.file.Close() }

// after removes what is before a mark from the snapshot.
func (s *snapshot) after(m Mark) {
	s.from, s.lines = m.offset, s.lines-m.lines
	s.size, s.stored, s.resume = s.size-m.offset, s.stored-m.offset, s.resume-m.offset
	if drop := -s.resume; drop > 0 && len(s.tail) > 0 {
		s.tail = s.tail[min(drop, int64(len(s.tail))):]
	}
	s.stored, s.resume = max(s.stored, 0), max(s.resume, 0)
}

// ReadAt reads output. It fails where the output is missing.
func (s *snapshot) ReadAt(p []byte, off int64) (n int, err error) {
	for len(p) > 0 && off < s.size {
		var m int
		switch {
		case off < s.stored:
			m, err = s.file.ReadAt(p[:min(int64(len(p)), s.stored-off)], s.from+off)
			if m == 0 {
				return n, fmt.Errorf("reading output: its file has been changed: %w", err)
			}
		case off >= s.resume:
			m = copy(p, s.tail[off-s.resume:])
		default:
			return n, errMissing
		}
		n, off, p = n+m, off+int64(m), p[m:]
	}
	if len(p) > 0 {
		return n, io.EOF
	}
	return n, nil
}

var errMissing = errors.New("this part of the output was not kept")

// ring holds the last bytes of a stream.
type ring struct {
	buf  []byte
	from int64 // offset at which the stream began
	n    int64 // bytes of the stream so far
}

func newRing(from int64) *ring { return &ring{buf: make([]byte, tailSize), from: from} }

// begin returns the offset of the first byte held.
func (r *ring) begin() int64 { return r.from + r.n - min(r.n, int64(len(r.buf))) }

// last returns a ring with the last n bytes of r. Nothing can be written to it.
func (r *ring) last(n int) *ring {
	from, p := r.snapshot()
	drop := max(0, len(p)-n)
	return &ring{buf: bytes.Clone(p[drop:]), from: from + int64(drop), n: int64(len(p) - drop)}
}

func (r *ring) write(p []byte) {
	if drop := len(p) - len(r.buf); drop > 0 {
		r.n += int64(drop)
		p = p[drop:]
	}
	for len(p) > 0 {
		m := copy(r.buf[r.n%int64(len(r.buf)):], p)
		r.n += int64(m)
		p = p[m:]
	}
}

// snapshot returns a copy of the bytes held and the offset of the first one.
func (r *ring) snapshot() (from int64, p []byte) {
	n := min(r.n, int64(len(r.buf)))
	if n == 0 {
		return r.from, nil
	}
	at := (r.n - n) % int64(len(r.buf))
	p = make([]byte, 0, n)
	p = append(p, r.buf[at:min(at+n, int64(len(r.buf)))]...)
	p = append(p, r.buf[:n-int64(len(p))]...)
	return r.from + r.n - n, p
}
