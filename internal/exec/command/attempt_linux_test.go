package command

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// TestTriedAgain checks that BashReadOnly may be offered later if the first trial
// fails temporarily, and that the function given to OnTried is called then.
func TestTriedAgain(t *testing.T) {
	another, _ := twins(t)
	want := another(nil).ReadOnly(t.Context()) == nil
	c := another(func(c *Config) { c.State = filepath.Join(t.TempDir(), "none") })
	told := make(chan struct{}, 9)
	c.OnTried(func() { told <- struct{}{} })
	good := c.temp.parents
	c.temp.parents = []string{filepath.Join(t.TempDir(), "full")}
	if err := c.StoredReadOnly(t.Context()); !errors.Is(err, ErrRetry) {
		t.Fatal("without a folder for temporary files:", err)
	}
	c.temp.parents = good
	if r := c.Report(t.Context()); r.ReadOnly.Err != nil {
		t.Fatal(r.ReadOnly.Err)
	}
	select {
	case <-told:
	case <-time.After(time.Minute):
		t.Fatal("nobody was told")
	}
	if err := c.StoredReadOnly(t.Context()); (err == nil) != want {
		t.Error("then:", err)
	}
	if len(told) > 0 {
		t.Error("it was told twice")
	}
}

// TestTrialHangs checks that the wait for a trial that hangs ends after a limited
// time, or when the caller cancels.
func TestTrialHangs(t *testing.T) {
	a := &attempt{begun: time.Now(), done: make(chan struct{}), report: &Report{}}
	if r := a.wait(t.Context(), a.done, time.Millisecond); r.Write.Err == nil || r.ReadOnly.Err == nil {
		t.Error("a trial that hangs is taken for made")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the caller is gone")
	cancel(gone)
	if r := a.wait(ctx, a.done, time.Hour); !errors.Is(r.Write.Err, gone) {
		t.Error("the error is", r.Write.Err)
	}
}
