package read

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"mcp-toolset/tools"
)

// maxHung bounds the reads that go on although nobody waits for them any more:
// each keeps a thread.
const maxHung = 32

// hung counts them. It is of the process, as threads are.
var hung atomic.Int32

// within runs f and stops waiting for it when ctx ends or time is up: a read of
// a file system that does not answer cannot be broken off, only left behind.
func within[T any](ctx context.Context, limit time.Duration, f func(context.Context) (T, error)) (T, error) {
	var none T
	if hung.Load() >= maxHung {
		return none, &tools.Fault{
			Fact: fmt.Sprintf("%d earlier reads still wait for a file system that does not answer", maxHung),
			Next: "A person must look after it; nothing can be read until then.",
		}
	}
	slow := &tools.Fault{Fact: fmt.Sprintf("the read took longer than %v", limit), Next: "Read a range further up, or another file."}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, slow)
	defer cancel()
	type outcome struct {
		value    T
		err      error
		panicked any
	}
	done := make(chan outcome, 1)
	var left atomic.Bool // nobody waits
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
			panic(o.panicked) // for the pipeline, which answers and logs it
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
