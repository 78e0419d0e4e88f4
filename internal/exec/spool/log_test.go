package spool

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A process that holds the pipe delays Finish for the given time only.
func TestFinish(t *testing.T) {
	l := newLog(t, anyStore(t))
	w, wait := pumped(t, l)
	defer w.Close()
	write(t, w, "output\n")
	for printed := int64(0); printed == 0; printed, _ = l.Bytes() {
		runtime.Gosched()
	}
	l.Finish(time.Millisecond)
	wait()
	if got := whole(t, l); got != "output\n" {
		t.Errorf("got %q", got)
	}
	l.Finish(time.Hour) // the log is done already
	// Finish before Pump.
	l = newLog(t, anyStore(t))
	done := make(chan struct{})
	go func() { l.Finish(0); close(done) }()
	for broken := false; !broken; {
		l.mu.Lock()
		broken = l.broken
		l.mu.Unlock()
	}
	_, wait = pumped(t, l)
	wait()
	<-done
}

// A full disk stops storing. It does not stop the command before the quota of one command is
// exceeded.
func TestDiskError(t *testing.T) {
	s := anyStore(t)
	l := newLog(t, s)
	full := errors.New("no space left on device")
	l.out = writerFunc(func(p []byte) (int, error) {
		n := min(len(p), 5)
		if _, err := l.file.Write(p[:n]); err != nil {
			t.Error(err)
		}
		return n, full
	})
	w, wait := pumped(t, l)
	write(t, w, "output that is long\n")
	for l.Err() == nil {
		runtime.Gosched()
	}
	write(t, w, strings.Repeat("more\n", 500_000)+"end\n")
	w.Close()
	wait()
	select {
	case <-l.Full():
		t.Error("it is to be stopped")
	default:
	}
	if _, ok, err := l.Content(1 << 30); ok || err != nil {
		t.Errorf("all of it is known: %t, %v", ok, err)
	}
	if size := int64(20 + 2_500_000 + 4); l.Missing() != size-5-tailSize {
		t.Errorf("%d bytes are missing", l.Missing())
	}
	l.Trim()
	if size := int64(20 + 2_500_000 + 4); l.Missing() != size-5-trimmed || len(l.tail.buf) != trimmed {
		t.Errorf("%d bytes are missing, and %d held", l.Missing(), len(l.tail.buf))
	}
	if err := l.Err(); !errors.Is(err, full) || err.Error() != "storing output: no space left on device" {
		t.Errorf("got %v", err)
	}
	v, err := l.View(24)
	if err != nil || v.Head != "outp" || v.Tail != "more\nmore\nmore\nend\n" {
		t.Errorf("got %+v, %v", v, err)
	}
	if used, _ := s.store.Usage(); used != 5 {
		t.Errorf("%d bytes are counted", used)
	}
}

// Output of which nothing can be stored is shown whole as long as it fits in memory,
// and trimmed bytes are counted.
func TestNothingStored(t *testing.T) {
	l := newLog(t, newStore(t, Quota{Task: 100_000, All: 1 << 20}, time.Now))
	l.out = writerFunc(func([]byte) (int, error) { return 0, errors.New("no space left on device") })
	text := strings.Repeat("a line\n", 2000)
	l.append([]byte(text[:6]))
	l.append([]byte(text[6:]))
	l.finish()
	if got := whole(t, l); got != text {
		t.Errorf("%d bytes are shown, want %d", len(got), len(text))
	}
	if p, ok, err := l.Content(int64(len(text))); string(p) != text || !ok || err != nil {
		t.Errorf("the content has %d bytes, %t, %v", len(p), ok, err)
	}
	if _, ok, _ := l.Content(int64(len(text)) - 1); ok {
		t.Error("more than the limit is given")
	}
	l.Trim()
	part, err := l.Read(t.Context(), Query{Max: 1 << 20})
	if err != nil || part.Missing != int64(len(text)-trimmed) || part.Text != text[len(text)-trimmed:] {
		t.Errorf("%d bytes are missing, %d shown, %v", part.Missing, len(part.Text), err)
	}
	// Stored output is not trimmed.
	l = newLog(t, anyStore(t))
	l.append([]byte("all\n"))
	l.finish()
	l.Trim()
	if got := whole(t, l); got != "all\n" || l.Missing() != 0 {
		t.Errorf("got %q, %d are missing", got, l.Missing())
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Memory does not grow with the output.
func TestFlatMemory(t *testing.T) {
	l := newLog(t, anyStore(t))
	w, wait := pumped(t, l)
	p := []byte(strings.Repeat("a line of what a build prints, not very long\n", 2000))
	measure := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := measure()
	const size = 30 << 20
	for sent := 0; sent < size; sent += len(p) {
		if _, err := w.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	if grown := int64(measure()) - int64(before); grown > 4<<20 {
		t.Errorf("it has grown by %d bytes", grown)
	}
	w.Close()
	wait()
	v, err := l.View(30_000)
	if err != nil || len(v.Head)+len(v.Tail) > 30_000 || len(v.Tail) < 20_000 {
		t.Errorf("%d and %d, %v", len(v.Head), len(v.Tail), err)
	}
}

// BenchmarkPump measures the path of output from a command to the disk.
func BenchmarkPump(b *testing.B) {
	for name, line := range map[string]string{"short": "y\n", "long": "a line of what a build prints, not very long\n"} {
		b.Run(name, func(b *testing.B) {
			const size = 300_000_000
			p := []byte(strings.Repeat(line, 64<<10/len(line)))
			s := anyStore(b)
			b.SetBytes(size)
			for b.Loop() {
				l := newLog(b, s)
				w, wait := pumped(b, l)
				for sent := 0; sent < size; sent += len(p) {
					if _, err := w.Write(p); err != nil {
						b.Fatal(err)
					}
				}
				w.Close()
				wait()
				if _, err := l.View(30_000); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := l.Remove(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
