// Package bounded limits the time for operations that cannot be cancelled.
//
// A system call on a file system that does not answer can block without a
// limit. So reads and searches have a timeout, and so has following the links of
// a path before the policy decides. Do abandons the operation at its timeout.
// The number of abandoned operations is limited, because each occupies a thread;
// beyond the limit, Do starts none.
package bounded

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// maxAbandoned is the limit of abandoned operations that still run.
const maxAbandoned = 32

var (
	// ErrTime reports that the timeout passed.
	ErrTime = errors.New("the file system does not answer")
	// ErrTooMany reports that the operation was not started, because too many
	// abandoned ones still run.
	ErrTooMany = errors.New("too much still waits for a file system that does not answer")
)

// abandoned is the number of abandoned operations that still run. It is global
// because threads belong to the process.
var abandoned atomic.Int32

// Do runs f and returns its results. If ctx ends first, Do returns the cause of
// ctx; after limit, it returns ErrTime. The context of f ends at the same time.
// If f panics before that, Do panics with the stack of f.
func Do[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	var none T
	if abandoned.Load() >= maxAbandoned {
		return none, ErrTooMany
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrTime)
	defer cancel()
	type outcome struct {
		value    T
		err      error
		panicked any
	}
	done := make(chan outcome, 1)
	var left atomic.Bool // set by whichever of f and the wait ends first
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
			done <- o
			if !left.CompareAndSwap(false, true) {
				abandoned.Add(-1)
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
		abandoned.Add(1)
		if !left.CompareAndSwap(false, true) {
			abandoned.Add(-1) // f ended just now
		}
		return none, context.Cause(ctx)
	}
}
