package read

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// hang waits for something that does not heed its context.
func hang(until <-chan struct{}) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		<-until
		return 1, nil
	}
}

func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		defer func() {
			close(answer)
			synctest.Wait()
			if n := hung.Load(); n != 0 {
				t.Errorf("%d reads hang after all ended", n)
			}
		}()
		if n, err := within(t.Context(), time.Minute, func(context.Context) (int, error) { return 7, nil }); n != 7 || err != nil {
			t.Errorf("a quick read: %d, %v", n, err)
		}
		start := time.Now()
		_, err := within(t.Context(), time.Minute, hang(answer))
		if want := "the read took longer than 1m0s. Read a range further up, or another file."; err == nil || err.Error() != want || time.Since(start) != time.Minute {
			t.Errorf("a read that hangs: %v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start = time.Now()
		if _, err := within(ctx, time.Minute, hang(answer)); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("a cancelled read: %v after %v", err, time.Since(start))
		}
		for range maxHung - 2 {
			_, _ = within(t.Context(), time.Minute, hang(answer))
		}
		if _, err := within(t.Context(), time.Minute, hang(answer)); err == nil || !strings.HasPrefix(err.Error(), "32 earlier reads still wait for a file system that does not answer. ") {
			t.Errorf("one more than may hang: %v", err)
		}
	})
}

func TestWithinPanics(t *testing.T) {
	defer func() {
		if p, ok := recover().(string); !ok || !strings.HasPrefix(p, "boom\n") || !strings.Contains(p, "TestWithinPanics") {
			t.Errorf("recovered %v", p)
		}
	}()
	_, _ = within(t.Context(), time.Minute, func(context.Context) (int, error) { panic("boom") })
}
