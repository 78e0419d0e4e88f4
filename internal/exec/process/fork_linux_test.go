package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestHungStart checks that a supervisor that hangs before it executes our program
// delays nothing: not its caller, not the next supervisor, not Close.
func TestHungStart(t *testing.T) {
	r := newRunner(t, Config{})
	hung, release := make(chan struct{}), make(chan struct{})
	r.wait = 50 * time.Millisecond
	r.start = func(*exec.Cmd) error {
		close(hung)
		<-release
		return errors.New("killed")
	}
	defer close(release)
	if _, err := r.Tier(t.Context()); err == nil || !strings.Contains(err.Error(), "not ready within 50ms") {
		t.Fatal("the error is", err)
	}
	<-hung
	r.wait, r.start = startWait, (*exec.Cmd).Start
	if e, out := run(t, r, "echo next"); e.Code != 0 || out != "next" {
		t.Errorf("the next command: %+v, %q", e, out)
	}
}

// TestCloseDuringHungStart checks that Close ends the wait for a supervisor.
func TestCloseDuringHungStart(t *testing.T) {
	r := NewRunner(Config{})
	hung, release := make(chan struct{}), make(chan struct{})
	r.wait = failTime
	r.start = func(*exec.Cmd) error {
		close(hung)
		<-release
		return errors.New("killed")
	}
	defer close(release)
	got := make(chan error, 1)
	go func() {
		_, err := r.Tier(t.Context())
		got <- err
	}()
	<-hung
	closed := make(chan error, 1)
	go func() { closed <- r.Close(0) }()
	for _, c := range []chan error{got, closed} {
		select {
		case err := <-c:
			if c == got && !errors.Is(err, ErrClosed) || c == closed && err != nil {
				t.Error("the error is", err)
			}
		case <-time.After(failTime / 2):
			t.Fatal("it waits")
		}
	}
}

// TestKillHalfStarted checks that a process that is not yet a supervisor is killed,
// and that a supervisor is not.
func TestKillHalfStarted(t *testing.T) {
	r := newRunner(t, Config{})
	p, o := start(t, r, script(t, "exec sleep 60"))
	half := exec.Command(bash(t), "-c", "read x")
	in, err := half.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	f, _, err := r.fork(t.Context(), half.Start, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.release(f)
	killHalfStarted(f.thread)
	var exit *exec.ExitError
	if err := half.Wait(); !errors.As(err, &exit) || exit.Exited() {
		t.Error("it ended with", err)
	}
	if err := p.End(0); err != nil {
		t.Error(err)
	}
	if e := wait(t, p); !e.Ended || e.Lost != nil {
		t.Errorf("the command of a supervisor ended otherwise: %+v", e)
	}
	o.all(t)
}

// hangOnce makes the next start hang until release is closed. Later starts work
// normally. It does not affect supervisors that the spawner starts.
func hangOnce(r *Runner) (hung, release chan struct{}) {
	hung, release = make(chan struct{}), make(chan struct{})
	var begun atomic.Bool
	r.start = func(cmd *exec.Cmd) error {
		if begun.CompareAndSwap(false, true) {
			close(hung)
			<-release
			return errors.New("killed")
		}
		return cmd.Start()
	}
	return hung, release
}

// inBackground starts a supervisor and sends its error.
func inBackground(ctx context.Context, r *Runner) chan error {
	got := make(chan error, 1)
	go func() {
		s, err := r.fresh(ctx)
		if err == nil {
			s.discard()
		}
		got <- err
	}()
	return got
}

func threadLives(id int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/self/task/%d", id))
	return err == nil
}

// TestHungStartOfAnother checks that a start that hangs does not delay starts that
// wait for the same thread.
func TestHungStartOfAnother(t *testing.T) {
	r := newRunner(t, Config{Tiers: Together()})
	run(t, r, "true") // determines the tier
	r.wait, r.hang = failTime, 50*time.Millisecond
	hung, release := hangOnce(r)
	ctx, cancel := context.WithCancel(t.Context())
	first := inBackground(ctx, r)
	<-hung
	var others []chan error
	for range 3 {
		others = append(others, inBackground(t.Context(), r))
	}
	for _, other := range others {
		select {
		case err := <-other:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(failTime / 2):
			t.Fatal("it waits")
		}
	}
	select {
	case err := <-first:
		t.Error("the first one ended with", err)
	default:
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error("the first one ended with", err)
	}
	close(release)
}

// TestCancelledStartThread checks that a start that is cancelled without hanging
// does not cost a thread.
func TestCancelledStartThread(t *testing.T) {
	r := newRunner(t, Config{Tiers: Together()})
	run(t, r, "true")
	f := r.hold()
	defer r.release(f)
	r.hang = failTime
	for range 5 {
		hung, release := hangOnce(r)
		ctx, cancel := context.WithCancel(t.Context())
		got := inBackground(ctx, r)
		<-hung
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Error("the error is", err)
		}
		close(release)
		run(t, r, "true") // on the same thread, so the start is over
	}
	now := r.hold()
	defer r.release(now)
	if now != f {
		t.Error("another thread starts processes")
	}
}

// TestHungStartThread checks that a replaced thread ends with the last process that
// it started.
func TestHungStartThread(t *testing.T) {
	r := newRunner(t, Config{Tiers: Together()})
	r.hang = failTime // it replaces the thread of a slow start
	p, o := start(t, r, script(t, "exec sleep 1000"))
	f := r.forker
	r.hang = time.Millisecond
	hung, release := hangOnce(r)
	ctx, cancel := context.WithCancel(t.Context())
	got := inBackground(ctx, r)
	<-hung
	eventually(t, "the thread is replaced", func() bool {
		select {
		case <-f.replaced:
			return true
		default:
			return false
		}
	})
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Error("the error is", err)
	}
	close(release)
	eventually(t, "the start is over", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return f.users == 1
	})
	if p.isDone() || !threadLives(f.thread) {
		t.Error("the thread of a command that runs has ended")
	}
	if err := p.End(0); err != nil {
		t.Error(err)
	}
	o.all(t)
	eventually(t, "the thread has ended", func() bool {
		select {
		case <-f.quit:
			return !threadLives(f.thread) || f.thread == os.Getpid() // Go ends all threads but the first
		default:
			return false
		}
	})
}

// TestCancelledBeforeStart checks that a start that is cancelled before it begins
// leaves no open descriptor.
func TestCancelledBeforeStart(t *testing.T) {
	r := newRunner(t, Config{Tiers: Together()})
	run(t, r, "true")
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	hung, release := hangOnce(r)
	r.hang = failTime
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	first := inBackground(ctx, r)
	<-hung
	before := open()
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := r.fresh(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error("the error is", err)
		}
		cancel()
	}
	if now := open(); now > before {
		t.Errorf("%d files are open, before %d", now, before)
	}
	cancel()
	<-first
}

// TestStartTakesTooLong checks that a supervisor that takes a command and does not
// start it is ended, by its time limit and by Close.
func TestStartTakesTooLong(t *testing.T) {
	inTiers(t, func(t *testing.T, r *Runner) {
		r.begin = 50 * time.Millisecond
		s := script(t, "echo ran")
		o := newOutput(t)
		s.Confine, s.Output = json.RawMessage(`"hang"`), o.w
		_, err := r.Start(t.Context(), s)
		const want = "containing and starting it takes longer than 50ms, so its supervisor was killed"
		if err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
		if out := o.all(t); out != "" {
			t.Error("it ran:", out)
		}
		r.begin = failTime
		sup, err := r.fresh(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		o = newOutput(t)
		s.Output = o.w
		got := make(chan error, 1)
		go func() {
			_, _, err := r.run(t.Context(), sup, s)
			sup.abandon()
			_ = o.w.Close()
			got <- err
		}()
		eventually(t, "the start is under way", func() bool { return sup.stderr.String() == "hangs" })
		if err := r.Close(0); err != nil {
			t.Error(err)
		}
		if err := <-got; !errors.Is(err, ErrClosed) {
			t.Error("the error is", err)
		}
		o.all(t)
	})
}
