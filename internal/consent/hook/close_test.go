//go:build unix

package hook

import (
	"os"
	"testing"
	"time"
)

// TestClose checks that Close leaves no hook running, even one that ignores
// requests to end, and that hooks started later are killed.
func TestClose(t *testing.T) {
	mark := newMark(t)
	w := newWorld(t, mark.add)
	started := fifo(t, w.dir, "started")
	ended := make(chan Verdict, 1)
	go func() {
		ended <- w.Run(t.Context(), pre, hooks(time.Minute, "trap '' TERM; sleep 1000 & echo >started; wait"), w.input())
	}()
	if _, err := os.ReadFile(started); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	mark.gone(t, "closed")
	if v := <-ended; len(v.Failures) != 1 || v.Failures[0].Reason != "ended with signal: killed" {
		t.Errorf("%+v", v)
	}
	if v := w.run(t, pre, "sleep 1000; exit 2"); v.Decided || len(v.Failures) != 1 {
		t.Errorf("behind it: %+v", v)
	}
	if len(w.running) != 0 {
		t.Errorf("%d hooks are taken for running", len(w.running))
	}
}
