package lossy

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stuck is a writer that blocks until it is released.
type stuck struct {
	mu   sync.Mutex
	text strings.Builder
	open chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	<-s.open
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// TestWriter checks that a reader that does not read blocks no writer, and that
// the report on dropped lines stands in their place.
func TestWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &stuck{open: make(chan struct{})}
		w := New(out)
		line := strings.Repeat("x", 1023) + "\n"
		fmt.Fprint(w, "first\n")
		synctest.Wait() // the line is being written
		const more = 7
		for range maxBuffered/len(line) - 1 {
			if n, err := fmt.Fprint(w, line); n != len(line) || err != nil {
				t.Fatal(n, err)
			}
		}
		fmt.Fprint(w, strings.Repeat("y", len(line)*more)+"\n")
		fmt.Fprint(w, "small\n") // it would fit, but must not precede the report
		before := time.Now()
		w.Flush(time.Second)
		if took := time.Since(before); took != time.Second {
			t.Errorf("Flush took %v", took)
		}
		close(out.open)
		w.Flush(time.Hour)
		fmt.Fprint(w, "last\n")
		w.Flush(time.Hour)
		got := out.text.String()
		head := "first\n" + strings.Repeat(line, maxBuffered/len(line)-1)
		rest, ok := strings.CutPrefix(got, head)
		if !ok || !strings.Contains(rest, fmt.Sprintf("level=WARN msg=\"lines of this log were dropped, because its reader was too slow\" count=%d\nlast\n", 2)) {
			t.Errorf("%d bytes, then %q", len(got), rest)
		}
	})
}

// TestConcurrently checks that lines of many goroutines are passed on complete
// and once.
func TestConcurrently(t *testing.T) {
	out := &stuck{open: make(chan struct{})}
	close(out.open)
	w := New(out)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			for j := range 50 {
				fmt.Fprintf(w, "%d-%d\n", i, j)
			}
		})
	}
	all.Wait()
	w.Flush(time.Minute)
	seen := map[string]bool{}
	for line := range strings.Lines(out.text.String()) {
		seen[line] = true
	}
	if len(seen) != 1000 || !seen["19-49\n"] {
		t.Errorf("%d lines", len(seen))
	}
}

// TestClosed checks that a closed reader causes no error.
func TestClosed(t *testing.T) {
	r, p, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	p.Close()
	w := New(p)
	if _, err := fmt.Fprint(w, "x\n"); err != nil {
		t.Error(err)
	}
	w.Flush(time.Minute)
}
