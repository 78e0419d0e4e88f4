//go:build unix

package spool

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSettleBeforePump checks that Settle waits for Pump to begin, whose goroutine may start later.
func TestSettleBeforePump(t *testing.T) {
	l := newLog(t, anyStore(t))
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		l.Settle(time.Second)
		if took := time.Since(begun); took < time.Second {
			t.Errorf("it waited %v", took)
		}
	})
}

// TestSettle checks that Settle waits for the output in the pipe and no longer.
func TestSettle(t *testing.T) {
	l := newLog(t, anyStore(t))
	begun, slow := make(chan struct{}), make(chan struct{})
	var shown strings.Builder
	l.Tap(writerFunc(func(p []byte) (int, error) {
		close(begun)
		<-slow
		return shown.Write(p)
	}))
	w, wait := pumped(t, l)
	write(t, w, "one\n")
	<-begun
	l.Settle(20 * time.Millisecond)
	if n, _ := l.Bytes(); n != 0 {
		t.Errorf("the log has %d bytes", n)
	}
	close(slow)
	l.Settle(failTime)
	if got := whole(t, l); got != "one\n" || shown.String() != got {
		t.Errorf("%q, %q", got, shown.String())
	}
	l.Settle(failTime) // an empty pipe
	w.Close()
	wait()
	l.Settle(failTime) // after the end
}
