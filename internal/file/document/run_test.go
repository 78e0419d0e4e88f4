package document

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/semaphore"

	"mcp-toolset/internal/text/fault"
)

// running is written into the file by a process that hangs, before it does.
const running = "running"

var errCaller = &fault.Fault{Fact: "is wrong", Next: "Put it right."}

// testReader returns a Reader with these limits, and a function that returns its log.
func testReader(t *testing.T, memory int64, deadline time.Duration) (*Reader, func() string) {
	t.Helper()
	var mu sync.Mutex
	var log bytes.Buffer
	h := slog.NewTextHandler(lockedWriter{&mu, &log}, &slog.HandlerOptions{Level: slog.LevelDebug})
	r := NewReader(Config{Log: slog.New(h)})
	r.memory, r.time, r.freeMemory = memory, deadline, semaphore.NewWeighted(memory)
	return r, func() string {
		mu.Lock()
		defer mu.Unlock()
		return log.String()
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	to *bytes.Buffer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

// tempFile returns an open file that contains data.
func tempFile(t *testing.T, data []byte) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// eventually polls a condition on another process. Only a failure reaches the deadline.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for start := time.Now(); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > 20*time.Second {
			t.Fatal("waited in vain until", what)
		}
	}
}

func isRunning(t *testing.T, f *os.File) func() bool {
	return func() bool {
		data, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(data) == running
	}
}

// Whatever a file does to its reader, the result is an answer or a fault.
func TestEndings(t *testing.T) {
	const memory, short, long = 120_000_000, 500 * time.Millisecond, 20 * time.Second
	const stopped = "made the reader of %s stop; it is probably damaged. Repair it or use another copy of it."
	for _, c := range []struct {
		kind     kind
		deadline time.Duration
		want     string // the value, or the error after "error: "
	}{
		{"value", long, "a value"},
		{"noise", long, "a value"},
		{"folder", long, string(filepath.Separator)},
		{"fault", long, "error: is wrong. Put it right."},
		{"error", long, "error: input/output error"},
		{"loop", short, "error: took longer than 0.5 s to read"},
		{"hang", short, "error: took longer than 0.5 s to read"},
		{"grow", long, "error: needs more than 120 MB of memory to read"},
		{"creep", long, "error: needs more than 120 MB of memory to read"},
		{"reserve", long, "error: needs more than 120 MB of memory to read"},
		{"recurse", long, "error: " + stopped},
		{"panic", long, "error: " + stopped},
		{"goexit", long, "error: " + stopped},
		{"exit", long, "error: " + stopped},
		{"garbage", long, "error: " + stopped},
		{"twice", long, "error: " + stopped},
		{"flood", long, "error: has more than 32 MiB to show at once"},
		{"unknown", long, "error: " + stopped},
	} {
		t.Run(string(c.kind), func(t *testing.T) {
			t.Parallel()
			if c.kind == "reserve" && (runtime.GOOS != "linux" || raceDetector) {
				t.Skip("only Linux limits what is mapped and not touched")
			}
			r, log := testReader(t, memory, c.deadline)
			got, err := read[string](t.Context(), r, tempFile(t, nil), request{Kind: c.kind, Memory: memory})
			if err != nil {
				got = "error: " + err.Error()
			}
			want := strings.ReplaceAll(c.want, "%s", string(c.kind))
			if !strings.HasPrefix(got, want) || err == nil && got != want {
				t.Errorf("got %q, want %q\nlog: %s", got, want, log())
			}
			var f *fault.Fault
			if errors.As(err, &f) == (c.kind == "error") && err != nil {
				t.Errorf("%v: a fault is %v", err, f != nil)
			}
			if peak := peakOf(t, log()); peak > 1.5*memory/1e6 && !raceDetector {
				t.Errorf("the process took %g MB", peak)
			}
		})
	}
}

// peakOf returns the peak memory in MB that a log reports.
func peakOf(t *testing.T, log string) (peak float64) {
	t.Helper()
	_, rest, found := strings.Cut(log, "peak_mb=")
	if _, err := fmt.Sscan(rest, &peak); err != nil || !found {
		t.Errorf("the log does not tell the memory: %s", log)
	}
	return peak
}

// The log distinguishes the reasons for which a process ended.
func TestLog(t *testing.T) {
	for k, want := range map[kind]string{
		"recurse": "stack exceeds",
		"panic":   "what a file can do",
		"grow":    "exit status 81",
		"loop":    "exit status 82|signal: killed", // on a busy machine the server is faster
		"exit":    "exit status 7",
		"unknown": "not for use by hand",
	} {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			deadline := 20 * time.Second
			if k == "loop" {
				deadline = 300 * time.Millisecond
			}
			r, log := testReader(t, 120_000_000, deadline)
			_, err := read[string](t.Context(), r, tempFile(t, nil), request{Kind: k, Memory: 120_000_000})
			if err == nil || !regexp.MustCompile(want).MatchString(log()) {
				t.Errorf("error %v; log %s, want %s in it", err, log(), want)
			}
		})
	}
}

// The process inherits nothing of the server's environment.
func TestEnvironment(t *testing.T) {
	t.Setenv("MCP_TOOLSET_TEST", "secret")
	r, _ := testReader(t, maxMemory, maxTime)
	env, err := read[[]string](t.Context(), r, tempFile(t, nil), request{Kind: "env", Memory: baseMemory})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range env {
		if !strings.HasPrefix(strings.ToUpper(v), "SYSTEMROOT=") && !slices.Contains(extraEnv, v) {
			t.Errorf("the process has %s", v)
		}
	}
}

// A file that needs more memory than estimated is read at the second try, if there is
// enough memory.
func TestSecondTry(t *testing.T) {
	r, log := testReader(t, maxMemory, maxTime)
	got, err := read[int](t.Context(), r, tempFile(t, nil), request{Kind: "touch", Memory: 90_000_000})
	if err != nil || got != 100<<20 {
		t.Errorf("got %d, %v", got, err)
	}
	if n := strings.Count(log(), "kind=touch"); n != 2 {
		t.Errorf("%d processes, want 2: %s", n, log())
	}
}

func TestNotStarted(t *testing.T) {
	r, _ := testReader(t, maxMemory, maxTime)
	r.self = func() (program, error) { return program{"/nonexistent", "nobody"}, nil }
	_, err := read[string](t.Context(), r, tempFile(t, nil), request{Kind: kindPDF, Memory: maxMemory})
	var f *fault.Fault
	if err == nil || errors.As(err, &f) || !strings.HasPrefix(err.Error(), "starting the reader of PDF files: ") {
		t.Errorf("got %v", err)
	}
	r.self = findSelf
	if _, err = read[string](t.Context(), r, tempFile(t, nil), request{Kind: "value", Memory: maxMemory}); err != nil {
		t.Errorf("after a failed start: %v", err)
	}
}

func TestCancelWhileRunning(t *testing.T) {
	r, _ := testReader(t, maxMemory, maxTime)
	f := tempFile(t, nil)
	why := errors.New("no longer wanted")
	ctx, cancel := context.WithCancelCause(t.Context())
	result := make(chan error)
	go func() {
		_, err := read[string](ctx, r, f, request{Kind: "hang", Memory: maxMemory})
		result <- err
	}()
	eventually(t, "the process runs", isRunning(t, f))
	cancel(why)
	if err := <-result; err != why {
		t.Errorf("got %v, want the cause", err)
	}
	if !r.freeMemory.TryAcquire(maxMemory) {
		t.Error("the memory of a cancelled process is not free")
	}
}

// Large files wait for each other, but not forever. Small ones do not wait for large
// ones.
func TestRoom(t *testing.T) {
	r, log := testReader(t, maxMemory, maxTime)
	r.wait = 50 * time.Millisecond
	if !r.freeMemory.TryAcquire(maxMemory) {
		t.Fatal("no room")
	}
	f := tempFile(t, nil)
	if _, err := read[string](t.Context(), r, f, request{Kind: "value", Memory: smallMemory}); err != nil {
		t.Errorf("a small file beside a large one: %v", err)
	}
	before := log()
	_, err := read[string](t.Context(), r, f, request{Kind: "value", Memory: smallMemory + 1})
	wantFault(t, err, "was not read: other files that are being read take all the memory there is for it. Read it again a little later.")
	if log() != before {
		t.Error("a process was started without room for it")
	}
	if !r.small.TryAcquire(smallMemory) {
		t.Error("the room of a small file is not free")
	}
}

func TestCancelWhileWaiting(t *testing.T) {
	r, log := testReader(t, maxMemory, maxTime)
	if !r.freeMemory.TryAcquire(1) {
		t.Fatal("no room")
	}
	why := errors.New("no longer wanted")
	ctx, cancel := context.WithCancelCause(t.Context())
	result := make(chan error)
	f := tempFile(t, nil)
	go func() {
		_, err := read[string](ctx, r, f, request{Kind: "value", Memory: maxMemory})
		result <- err
	}()
	cancel(why)
	if err := <-result; err != why {
		t.Errorf("got %v, want the cause", err)
	}
	if log() != "" {
		t.Errorf("a process was started: %s", log())
	}
}

// Many concurrent reads take turns and leak no descriptor.
func TestManyAtOnce(t *testing.T) {
	r, _ := testReader(t, maxMemory, maxTime)
	f := tempFile(t, nil)
	one := func() {
		got, err := read[string](t.Context(), r, f, request{Kind: "value", Memory: 100_000_000})
		if diff := cmp.Diff("a value", got); err != nil || diff != "" {
			t.Error(err, diff)
		}
	}
	one()
	before := descriptors(t)
	var all sync.WaitGroup
	for range 20 {
		all.Go(one)
	}
	all.Wait()
	if after := descriptors(t); after != before {
		t.Errorf("%d open descriptors, before there were %d", after, before)
	}
}

// descriptors returns the number of open descriptors, or 0 where it is unknown.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}
