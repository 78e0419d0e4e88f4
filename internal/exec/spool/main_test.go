package spool

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == smallArg {
		os.Exit(beOnSmallDisk(os.Args[2]))
	}
	goleak.VerifyTestMain(m)
}

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Now()} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func newStore(t testing.TB, q Quota, now func() time.Time) *Store {
	t.Helper()
	s := NewStore(filepath.Join(t.TempDir(), "state", "output"), q, now)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func anyStore(t testing.TB) *Store { return newStore(t, DefaultQuota, time.Now) }

func newLog(t testing.TB, s *Store) *Log {
	t.Helper()
	l, err := s.New("task")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !l.isDone() {
			l.finish()
		}
	})
	return l
}

// logOf returns a log with a text, of a running or an ended command.
func logOf(t testing.TB, text string, done bool) *Log {
	t.Helper()
	l := newLog(t, anyStore(t))
	l.append([]byte(text))
	if done {
		l.finish()
	}
	return l
}

// pumped returns the pipe that fills a log.
func pumped(t testing.TB, l *Log) (w *os.File, wait func()) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- l.Pump(r) }()
	return w, func() {
		t.Helper()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(failTime):
			t.Fatal("Pump does not end")
		}
	}
}

// failTime is a timeout that only a failure reaches.
const failTime = 30 * time.Second

func write(t testing.TB, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

func whole(t testing.TB, l *Log) string {
	t.Helper()
	v, err := l.View(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	if v.Tail != "" || v.Gap != (Gap{}) {
		t.Errorf("something is left out: %+v", v.Gap)
	}
	return v.Head
}

func lines(from, to int, format func(int) string) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		b.WriteString(format(i))
	}
	return b.String()
}
