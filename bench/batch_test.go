package main

import (
	"errors"
	"sync/atomic"
	"testing"
)

// TestPerSecond: every client reads as often as it should, and a failure is told.
func TestPerSecond(t *testing.T) {
	var reads [httpClients]atomic.Int32
	rate, err := perSecond(func(i int) error { reads[i].Add(1); return nil })
	if err != nil || rate <= 0 {
		t.Errorf("%f, %v", rate, err)
	}
	for i := range reads {
		if n := reads[i].Load(); n != httpReads {
			t.Errorf("client %d read %d times", i, n)
		}
	}
	bad := errors.New("bad")
	if _, err := perSecond(func(i int) error {
		if i == 3 {
			return bad
		}
		return nil
	}); !errors.Is(err, bad) {
		t.Error(err)
	}
}
