package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/concurrency"
)

// file is an in-memory file that can be full.
type file struct {
	bytes.Buffer
	writes int
	err    error
	closed bool
}

func (f *file) Write(p []byte) (int, error) {
	f.writes++
	if f.err != nil {
		return 0, f.err
	}
	return f.Buffer.Write(p)
}

func (f *file) Close() error { f.closed = true; return nil }

// events returns the events of a file in short form, whether or not the file
// has its end.
func events(t *testing.T, f *file, w *Writer) (short []string) {
	t.Helper()
	w.mu.Lock()
	text := bytes.Clone(f.Bytes())
	w.mu.Unlock()
	if !bytes.HasSuffix(text, []byte("]\n")) {
		text = append(text, ']')
	}
	var all []event
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	for _, e := range all {
		if e.PID != 1 || e.Phase != "M" && e.ID == "" {
			t.Errorf("event %+v", e)
		}
		line := e.Phase + e.ID + " " + e.Name + " " + (time.Duration(e.Time*1000) * time.Nanosecond).String()
		if args, ok := e.Args.(map[string]any); ok && args["ran"] != nil {
			for _, is := range []string{"safe", "ran", "shared", "cancelled"} {
				if args[is] == true {
					line += " " + is
				}
			}
		}
		short = append(short, line)
	}
	return short
}

// stage is a lane whose calls are traced.
type stage struct {
	*testing.T
	f    *file
	w    *Writer
	lane *concurrency.Lane
}

func newStage(t *testing.T, c concurrency.Config) *stage {
	s := &stage{T: t, f: &file{}}
	s.w = New(s.f, time.Now(), func(err error) { t.Error(err) })
	c.Now, c.Observe = time.Now, s.w.Observe
	s.lane = concurrency.New(c).NewLane("stdio-1")
	return s
}

// writes returns how often the file was written, and whether a flush is
// scheduled.
func (s *stage) writes() (n int, timed bool) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.f.writes, s.w.timed
}

// start begins a call that takes a millisecond to be decided on and a second to
// run.
func (s *stage) start(ctx context.Context, safe bool, refused error) {
	ticket, err := s.lane.Arrive()
	if err != nil {
		return
	}
	ticket.Label("Bash", "")
	go func() {
		_ = ticket.Run(ctx, func(context.Context) (bool, error) { time.Sleep(time.Millisecond); return safe, refused },
			func(context.Context) func() { time.Sleep(time.Second); return nil })
	}()
	synctest.Wait()
}

// TestTrace checks that each call has its stages, whatever its outcome.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, concurrency.Config{Queue: 4})
		s.start(t.Context(), false, nil)
		s.start(t.Context(), false, errors.New("refused"))
		ctx, cancel := context.WithCancel(t.Context())
		s.start(ctx, true, nil)
		ticket, err := s.lane.Arrive() // never runs
		if err != nil {
			t.Fatal(err)
		}
		s.start(t.Context(), true, nil) // no room
		ticket.Leave()
		time.Sleep(500 * time.Millisecond)
		cancel()
		time.Sleep(time.Minute)
		if err := s.w.Close(); err != nil || !s.f.closed {
			t.Fatal(err)
		}
		s.w.Observe(concurrency.Record{})
		want := []string{
			"M process_name 0s",
			"b1 Bash 0s", "b1 queued 0s", "e1 queued 0s", "b1 decided 0s",
			"b2 Bash 0s", "b2 queued 0s", "b3 Bash 0s", "b3 queued 0s",
			"n0 refused: too many calls wait 0s",
			"b4 call 0s", "b4 queued 0s", "e4 queued 0s", "e4 call 0s",
			"e1 decided 1ms", "b1 waits 1ms", "e1 waits 1ms", "b1 running 1ms",
			"e3 queued 500ms", "e3 Bash 500ms cancelled",
			"e1 running 1.001s", "e1 Bash 1.001s ran",
			"e2 queued 1.001s", "b2 decided 1.001s", "e2 decided 1.002s", "e2 Bash 1.002s",
		}
		if diff := cmp.Diff(want, events(t, s.f, s.w)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestTraceOfWhatWaited checks the events of a call that was settled but never
// ran.
func TestTraceOfWhatWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, concurrency.Config{})
		s.start(t.Context(), true, nil)
		ctx, cancel := context.WithCancel(t.Context())
		s.start(ctx, false, nil)
		time.Sleep(500 * time.Millisecond)
		cancel()
		time.Sleep(2 * time.Second)
		got := events(t, s.f, s.w)
		if got = got[len(got)-4:]; !slices.Equal(got, []string{"e2 waits 500ms", "e2 Bash 500ms cancelled", "e1 running 1.001s", "e1 Bash 1.001s safe ran"}) {
			t.Errorf("the end of the trace: %q", got)
		}
	})
}

// TestTraceOfWhatRuns checks that a running call is soon written to the file,
// even if no other event follows.
func TestTraceOfWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, concurrency.Config{})
		ticket, err := s.lane.Arrive()
		if err != nil {
			t.Fatal(err)
		}
		ticket.Label("Bash", "")
		end := make(chan struct{})
		go func() {
			_ = ticket.Run(t.Context(), func(context.Context) (bool, error) { ticket.Label("Bash", "make all"); return true, nil },
				func(context.Context) func() { <-end; return nil })
		}()
		synctest.Wait()
		if _, timed := s.writes(); !timed {
			t.Error("nothing is going to be written")
		}
		time.Sleep(flushAfter)
		synctest.Wait()
		want := []string{
			"M process_name 0s", "b1 Bash 0s", "b1 queued 0s", "e1 queued 0s", "b1 decided 0s", "e1 decided 0s",
			"b1 waits 0s", "e1 waits 0s", "b1 running 0s",
		}
		if diff := cmp.Diff(want, events(t, s.f, s.w)); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(s.f.String(), `"title":"make all"`) {
			t.Errorf("it is not said what runs: %s", s.f)
		}
		if writes, timed := s.writes(); writes != 2 || timed {
			t.Errorf("%d writes, another to come: %v", writes, timed)
		}
		time.Sleep(time.Hour)
		if writes, _ := s.writes(); writes != 2 {
			t.Errorf("%d writes of nothing", writes-2)
		}
		close(end)
		synctest.Wait()
		if err := s.w.Close(); err != nil { // before the timer
			t.Fatal(err)
		}
		before, _ := s.writes()
		time.Sleep(time.Hour)
		if writes, _ := s.writes(); writes != before {
			t.Error("it was written to when it was closed")
		}
	})
}

// TestKilled checks that at every moment the file is an array without its end,
// that the buffer is limited, and that few events do not cause many writes.
func TestKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &file{}
		w := New(f, time.Time{}, func(err error) { t.Error(err) })
		for i := range uint64(2000) {
			w.Observe(concurrency.Record{Lane: "l", LaneNumber: i, Number: i, Stage: concurrency.StageLeft, Kind: "K", Title: strings.Repeat("t\n\"", 10), Times: concurrency.Times{Left: time.Time{}.Add(time.Microsecond)}})
			if len(w.buf) > 2*most || len(w.lanes) > maxLanes {
				t.Fatalf("%d bytes and %d lanes wait", len(w.buf), len(w.lanes))
			}
			if i%500 == 499 {
				var events []event
				if err := json.Unmarshal(append(bytes.Clone(f.Bytes()), ']'), &events); err != nil {
					t.Fatalf("after %d calls: %v", i, err)
				}
			}
		}
		if f.writes > 200 {
			t.Errorf("%d writes", f.writes)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestEmptyAndFull checks that a trace without calls is valid, and that a full
// disk is reported once.
func TestEmptyAndFull(t *testing.T) {
	f := &file{}
	if err := New(f, time.Time{}, nil).Close(); err != nil || !json.Valid(f.Bytes()) {
		t.Errorf("%v: %s", err, f)
	}
	f, told := &file{}, 0
	w := New(f, time.Time{}, func(error) { told++ })
	f.err = errors.New("full")
	for range 3 {
		w.Observe(concurrency.Record{Stage: concurrency.StageLeft, Times: concurrency.Times{Left: time.Now()}})
	}
	if err := w.Close(); err != nil || told != 1 || f.writes != 2 || !f.closed {
		t.Errorf("told %d times, %d writes, %v", told, f.writes, err)
	}
}
