package launch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"testing/synctest"
	"time"
)

// TestStartHangs checks that a hanging start is abandoned at the timeout, and
// that no program is started when too many hang.
func TestStartHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer, over := make(chan struct{}), 0
		failed := errors.New("killed")
		hang := func() error { <-answer; return failed }
		begun := time.Now()
		if err := start(t.Context(), nil, hang, func() { over++ }); err != ErrTime || time.Since(begun) != startTime {
			t.Errorf("got %v after %v", err, time.Since(begun))
		}
		mine := errors.New("mine")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(mine) })
		begun = time.Now()
		if err := start(ctx, nil, hang, nil); err != mine || time.Since(begun) != time.Second {
			t.Errorf("cancelled: %v after %v", err, time.Since(begun))
		}
		if over != 0 {
			t.Error("a start that goes on is said to be over")
		}
		for abandoned.Load() < maxAbandoned {
			_ = start(ctx, nil, hang, nil)
		}
		refused := 0
		if err := start(t.Context(), nil, hang, func() { refused++ }); err != ErrTooMany || refused != 1 {
			t.Errorf("one more than may hang: %v, %d", err, refused)
		}
		close(answer)
		synctest.Wait()
		if n := abandoned.Load(); n != 0 || over != 1 {
			t.Errorf("%d hang after all ended, over %d times", n, over)
		}
		if err := start(t.Context(), nil, hang, func() { over++ }); err != failed || over != 2 {
			t.Errorf("a start that fails: %v, over %d times", err, over)
		}
	})
}

// TestStartLate checks that a process that starts too late is killed and
// reaped.
func TestStartLate(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestSleeps$")
	cmd.Env = append(os.Environ(), "LAUNCH_SLEEPS=1")
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	err = start(ctx, cmd, func() error {
		cancel()
		for abandoned.Load() == 0 { // until the start is abandoned
			time.Sleep(time.Millisecond)
		}
		return cmd.Start()
	}, func() { close(over) })
	if !errors.Is(err, context.Canceled) {
		t.Error("the error is", err)
	}
	select {
	case <-over:
	case <-time.After(time.Minute):
		t.Fatal("it runs")
	}
	if cmd.ProcessState == nil || cmd.ProcessState.Success() {
		t.Error("it ended with", cmd.ProcessState)
	}
}

// TestSleeps is the process of TestStartLate.
func TestSleeps(t *testing.T) {
	if os.Getenv("LAUNCH_SLEEPS") == "" {
		t.Skip("this is a helper process")
	}
	time.Sleep(time.Hour)
}
