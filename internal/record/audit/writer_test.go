package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// disk is an in-memory sink that can be slow, full or hanging. Tests may read
// its fields only while the writer is idle.
type disk struct {
	lines  []string
	did    []string      // "append N", "sync", "close"
	slow   time.Duration // time that append takes
	hangs  chan struct{} // append blocks until it is closed; nil does not block
	full   error
	syncs  error
	closed bool
}

func (d *disk) append(lines []byte) error {
	time.Sleep(d.slow)
	if d.hangs != nil {
		<-d.hangs
	}
	if d.full != nil {
		return d.full
	}
	all := strings.SplitAfter(strings.TrimSuffix(string(lines), "\n"), "\n")
	d.lines = append(d.lines, all...)
	d.did = append(d.did, fmt.Sprintf("append %d", len(all)))
	return nil
}

func (d *disk) sync() error {
	d.did = append(d.did, "sync")
	return d.syncs
}

func (d *disk) close() error {
	d.did = append(d.did, "close")
	d.closed = true
	return nil
}

// over returns a Log that writes to a sink.
func over(s sink, policy Sync, out *bytes.Buffer) *Log {
	l := &Log{path: "/log", log: slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})), now: time.Now}
	l.w = newWriter(s, policy, DefaultTimeout, l.warn)
	l.close = sync.OnceValue(l.w.close)
	return l
}

// TestSync checks when each policy syncs.
func TestSync(t *testing.T) {
	for policy, want := range map[Sync][]string{
		Always:   {"append 1", "sync", "append 1", "sync", "append 1", "sync", "close"},
		Interval: {"append 1", "append 1", "sync", "append 1", "sync", "close"},
		Never:    {"append 1", "append 1", "append 1", "close"},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := &disk{}
			l := over(d, policy, &bytes.Buffer{})
			for range 2 {
				if err := l.Write(t.Context(), Entry{}); err != nil {
					t.Error(err)
				}
			}
			time.Sleep(time.Minute) // an idle log is not synced again
			synctest.Wait()
			if policy == Interval && d.did[len(d.did)-1] != "sync" {
				t.Errorf("after a minute: %q", d.did)
			}
			if err := l.Write(t.Context(), Entry{}); err != nil {
				t.Error(err)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(want, d.did); diff != "" {
				t.Errorf("%s (-want +have):\n%s", policy, diff)
			}
		})
	}
}

// TestSyncAtMostEachSecond checks that continuous calls neither delay the sync
// nor cause more of them.
func TestSyncAtMostEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		l := over(d, Interval, &bytes.Buffer{})
		for range 100 {
			if err := l.Write(t.Context(), Entry{}); err != nil {
				t.Error(err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		n := 0
		for _, what := range d.did {
			if what == "sync" {
				n++
			}
		}
		if n < 9 || n > 11 {
			t.Errorf("%d syncs in 10 s", n)
		}
	})
}

// TestOrderAndBatches checks that lines are in the order of the calls, and that
// lines that arrive while the disk is busy are written together.
func TestOrderAndBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{slow: DefaultTimeout / 4}
		l := over(d, Always, &bytes.Buffer{})
		var mu sync.Mutex
		var ended []string
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				id := fmt.Sprint(i)
				if err := l.Write(t.Context(), Entry{Call: id}); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, id)
			})
			synctest.Wait()
		}
		wg.Wait()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		var calls, want []string
		for i := range 20 {
			want = append(want, fmt.Sprint(i))
		}
		for _, line := range d.lines {
			var e Entry
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			calls = append(calls, e.Call)
		}
		if diff := cmp.Diff(want, calls); diff != "" {
			t.Errorf("written (-want +have):\n%s", diff)
		}
		if ended[0] != "0" || len(ended) != 20 {
			t.Errorf("ended as %q", ended)
		}
		if diff := cmp.Diff([]string{"append 1", "sync", "append 19", "sync", "close"}, d.did); diff != "" {
			t.Errorf("(-want +have):\n%s", diff)
		}
	})
}

// TestHangs checks that only the first calls wait for a hanging disk, that
// abandoned lines are not written, and that writing continues when the disk
// answers again.
func TestHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{hangs: make(chan struct{})}
		var out bytes.Buffer
		l := over(d, Never, &out)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		try := func(call string, want time.Duration) {
			start := time.Now()
			err := l.Write(ctx, Entry{Call: call})
			if took := time.Since(start); !errors.Is(err, ErrTime) || took != want {
				t.Errorf("%s took %v: %v", call, took, err)
			}
		}
		var wg sync.WaitGroup
		wg.Go(func() { try("first", DefaultTimeout) })
		synctest.Wait()
		time.Sleep(time.Millisecond) // of the fake clock, so that the first one is late before
		wg.Go(func() { try("second", DefaultTimeout) })
		wg.Wait()
		for range 10 {
			try("later", 0)
		}
		if l.Lost() != 12 {
			t.Errorf("lost %d", l.Lost())
		}
		close(d.hangs)
		synctest.Wait()
		if err := l.Write(ctx, Entry{Call: "third"}); err != nil { // cancelled calls are logged too
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if all := strings.Join(d.lines, ""); len(d.lines) != 2 || !strings.Contains(all, "first") || !strings.Contains(all, "third") {
			t.Errorf("written: %s", all)
		}
		want := `level=WARN msg="the audit log is not complete" path=/log "calls lost"=1 error="writing the audit log /log: the disk does not answer"
level=WARN msg="the audit log is not complete" path=/log "calls lost"=11
`
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("told (-want +have):\n%s", diff)
		}
	})
}

// TestQueueFull checks that calls beyond the queue's limit block, but not
// without end.
func TestQueueFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{hangs: make(chan struct{})}
		l := over(d, Never, &bytes.Buffer{})
		var wg sync.WaitGroup
		for i := range 2 * mostWaiting {
			wg.Go(func() {
				start := time.Now()
				if err := l.Write(t.Context(), Entry{}); !errors.Is(err, ErrTime) || time.Since(start) != DefaultTimeout {
					t.Errorf("after %v: %v", time.Since(start), err)
				}
			})
			if i == 0 {
				synctest.Wait() // the first line hangs in the sink
			}
		}
		wg.Wait()
		start := time.Now()
		if err := l.Close(); !errors.Is(err, ErrTime) || time.Since(start) != DefaultTimeout || err.Error() != "closing the audit log /log: the disk does not answer" {
			t.Errorf("closed after %v: %v", time.Since(start), err)
		}
		if err := l.Write(t.Context(), Entry{}); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		close(d.hangs)
		synctest.Wait()
		if !d.closed || len(d.lines) != 1 {
			t.Errorf("%d lines, closed: %v", len(d.lines), d.closed)
		}
	})
}

// TestFull checks that each call gets an error, and the server's log one
// warning a minute.
func TestFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{full: errors.New("no space left on device")}
		var out bytes.Buffer
		l := over(d, Always, &out)
		for range 61 {
			if err := l.Write(t.Context(), Entry{}); err == nil || err.Error() != "writing the audit log /log: no space left on device" {
				t.Error(err)
			}
			time.Sleep(time.Second)
		}
		synctest.Wait()
		d.full, d.syncs = nil, errors.New("input/output error")
		if err := l.Write(t.Context(), Entry{}); err == nil || l.Lost() != 62 {
			t.Errorf("not synced: %v; lost %d", err, l.Lost())
		}
		if err := l.Close(); err != nil || l.Close() != nil {
			t.Error(err)
		}
		if n := strings.Count(out.String(), "\n"); n != 3 || !strings.Contains(out.String(), `"calls lost"=60 `) {
			t.Errorf("told\n%s", out.String())
		}
	})
}

// TestSyncFails checks that a failed sync under Interval is logged, because no
// caller waits for it.
func TestSyncFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{syncs: errors.New("input/output error")}
		var out bytes.Buffer
		l := over(d, Interval, &out)
		if err := l.Write(t.Context(), Entry{}); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !strings.Contains(out.String(), `"calls lost"=0 error="syncing: input/output error"`) {
			t.Errorf("told %s", out.String())
		}
		if err := l.Write(t.Context(), Entry{}); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err == nil || err.Error() != "closing the audit log /log: input/output error" {
			t.Error(err)
		}
	})
}

// TestCloseWrites checks that Close writes the waiting lines, and that a
// concurrent Write returns in any case.
func TestCloseWrites(t *testing.T) {
	before := goleak.IgnoreCurrent()
	for range 100 {
		d := &disk{}
		l := over(d, Never, &bytes.Buffer{})
		var mu sync.Mutex
		written := 0
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				err := l.Write(t.Context(), Entry{})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					written++
				} else if !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
			})
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if len(d.lines) != written {
			t.Fatalf("%d lines for %d calls", len(d.lines), written)
		}
	}
	goleak.VerifyNone(t, before)
}
