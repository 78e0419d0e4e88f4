package bounded

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// hang returns a function that waits for until and ignores its context.
func hang(until <-chan struct{}) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		<-until
		return 1, nil
	}
}

func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		defer func() {
			close(answer)
			synctest.Wait()
			if n := abandoned.Load(); n != 0 {
				t.Errorf("%d hang after all ended", n)
			}
		}()
		if n, err := Do(t.Context(), time.Minute, func(context.Context) (int, error) { return 7, nil }); n != 7 || err != nil {
			t.Errorf("what is quick: %d, %v", n, err)
		}
		start := time.Now()
		if _, err := Do(t.Context(), time.Minute, hang(answer)); err != ErrTime || time.Since(start) != time.Minute {
			t.Errorf("what hangs: %v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start = time.Now()
		if _, err := Do(ctx, time.Minute, hang(answer)); !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("what is cancelled: %v after %v", err, time.Since(start))
		}
		heeded := make(chan error, 1)
		_, _ = Do(t.Context(), time.Minute, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			heeded <- context.Cause(ctx)
			return 0, nil
		})
		if err := <-heeded; err != ErrTime {
			t.Errorf("what heeds its context sees %v", err)
		}
		synctest.Wait()
		if n := abandoned.Load(); n != 2 {
			t.Errorf("%d hang, want 2", n)
		}
		for range maxAbandoned - 2 {
			_, _ = Do(t.Context(), time.Minute, hang(answer))
		}
		if _, err := Do(t.Context(), time.Minute, hang(answer)); err != ErrTooMany {
			t.Errorf("one more than may hang: %v", err)
		}
	})
}

func TestDoPanics(t *testing.T) {
	defer func() {
		if p, ok := recover().(string); !ok || !strings.HasPrefix(p, "boom\n") || !strings.Contains(p, "TestDoPanics") {
			t.Errorf("recovered %v", p)
		}
	}()
	_, _ = Do(t.Context(), time.Minute, func(context.Context) (int, error) { panic("boom") })
}
