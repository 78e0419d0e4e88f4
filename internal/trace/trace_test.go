package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcp-toolset/concurrency"
)

// file is a file in memory that may be full.
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

// TestTrace: a call that waited for another has its stages, by lane.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &file{}
		w := New(f, time.Now(), func(err error) { t.Error(err) })
		s := concurrency.New(concurrency.Config{Now: time.Now, Observe: w.Observe})
		lane := s.NewLane("stdio-1")
		for _, name := range []string{"first", "second"} {
			ticket, err := lane.Arrive()
			if err != nil {
				t.Fatal(err)
			}
			ticket.Label("Bash", name)
			go func() {
				_ = ticket.Run(t.Context(), func(context.Context) (bool, error) { time.Sleep(time.Millisecond); return false, nil },
					func(context.Context) func() { time.Sleep(time.Second); return nil })
			}()
		}
		time.Sleep(time.Minute)
		if err := w.Close(); err != nil || !f.closed {
			t.Fatal(err)
		}
		w.Observe(concurrency.Record{})
		var events []event
		if err := json.Unmarshal(f.Bytes(), &events); err != nil {
			t.Fatalf("%v in %s", err, f)
		}
		var got []string
		for _, e := range events {
			if e.PID != 1 || e.Phase != "M" && e.ID == "" {
				t.Errorf("event %+v", e)
			}
			got = append(got, strings.TrimSpace(e.Phase+e.ID+" "+e.Name+" "+(time.Duration(e.Time*1000)*time.Nanosecond).String()))
		}
		want := []string{
			"M process_name 0s",
			"b1 Bash 0s", "b1 decided 0s", "e1 decided 1ms", "b1 running 1ms", "e1 running 1.001s", "e1 Bash 1.001s",
			"b2 Bash 0s", "b2 queued 0s", "e2 queued 1.001s", "b2 decided 1.001s", "e2 decided 1.002s", "b2 running 1.002s", "e2 running 2.002s", "e2 Bash 2.002s",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestKilled: at every moment the file is an array but for its end, what waits
// in memory is bounded, and little is written in many pieces.
func TestKilled(t *testing.T) {
	f := &file{}
	w := New(f, time.Time{}, func(err error) { t.Error(err) })
	for i := range uint64(5000) {
		w.Observe(concurrency.Record{Lane: "l", LaneNumber: i, Number: i, Kind: "K", Title: strings.Repeat("t\n\"", 10), Times: concurrency.Times{Left: time.Time{}.Add(time.Microsecond)}})
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
}

// TestEmptyAndFull: no call is a trace too, and a full disk is told once.
func TestEmptyAndFull(t *testing.T) {
	f := &file{}
	if err := New(f, time.Time{}, nil).Close(); err != nil || !json.Valid(f.Bytes()) {
		t.Errorf("%v: %s", err, f)
	}
	f, told := &file{}, 0
	w := New(f, time.Time{}, func(error) { told++ })
	f.err = errors.New("full")
	for range 3 {
		w.Observe(concurrency.Record{Times: concurrency.Times{Left: time.Now()}})
	}
	if err := w.Close(); err != nil || told != 1 || f.writes != 2 || !f.closed {
		t.Errorf("told %d times, %d writes, %v", told, f.writes, err)
	}
}
