// Package bounded waits for what cannot be broken off.
//
// A system call on a file system that does not answer returns when it likes. Do
// leaves it behind when its time is up; how many are left behind is bounded,
// because each keeps a thread.
package bounded

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// maxHung bounds what goes on although nobody waits for it any more.
const maxHung = 32

var (
	// ErrTime says that time was up.
	ErrTime = errors.New("the file system does not answer")
	// ErrHung says that nothing was begun, because too much is left behind.
	ErrHung = errors.New("too much still waits for a file system that does not answer")
)

// hung counts what is left behind. It is of the process, as threads are.
var hung atomic.Int32

// Do runs f and returns what it returns, but for the cause of ctx when that
// ends first, and ErrTime after limit. f's context ends then, too. A panic of f
// is one of Do, with the stack of f.
func Do[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	var none T
	if hung.Load() >= maxHung {
		return none, ErrHung
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrTime)
	defer cancel()
	type outcome struct {
		value    T
		err      error
		panicked any
	}
	done := make(chan outcome, 1)
	var left atomic.Bool // one side has gone
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
			done <- o
			if !left.CompareAndSwap(false, true) {
				hung.Add(-1)
			}
		}()
		o.value, o.err = f(ctx)
	}()
	select {
	case o := <-done:
		if o.panicked != nil {
			panic(o.panicked)
		}
		return o.value, o.err
	case <-ctx.Done():
		hung.Add(1)
		if !left.CompareAndSwap(false, true) {
			hung.Add(-1) // it ended just now
		}
		return none, context.Cause(ctx)
	}
}
