package pipeline

import (
	"context"
	"sync"
	"time"

	"mcp-toolset/internal/text/plain"
	"mcp-toolset/tools"
)

const (
	// waitQuiet is the delay before the client is informed that a call waits.
	waitQuiet = 2 * time.Second
	// waitAgain is the interval of further messages.
	waitAgain = 10 * time.Second
)

// watch reports to the client what the call waits for, until stop is called or
// ctx ends. It does nothing if the client did not ask for progress.
func (c *call) watch(ctx context.Context) (stop func()) {
	c.stop = func() {}
	if c.Progress == nil {
		return c.stop
	}
	began := c.p.Now()
	done := make(chan struct{})
	c.stop = sync.OnceFunc(func() { close(done) })
	go func() {
		timer := time.NewTimer(waitQuiet)
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			if why := c.waitsFor(); why != "" {
				c.waiting(c.p.Now().Sub(began), why)
			}
			timer.Reset(waitAgain)
		}
	}()
	return c.stop
}

// waiting reports what the call waits for, unless it has begun to run.
func (c *call) waiting(since time.Duration, why string) {
	c.activity.mu.Lock()
	defer c.activity.mu.Unlock()
	if c.activity.began.IsZero() {
		c.report(tools.Progress{Done: since.Seconds(), Message: "waits for " + plain.Line(why)})
	}
}

// waitsFor returns what keeps the call from running, or "".
func (c *call) waitsFor() string {
	if why, _ := c.holdup.Load().(string); why != "" {
		return why
	}
	return c.Ticket.WaitsFor()
}

// heldUp records what the decision on the call waits for. The caller must call
// done at the end.
func (c *call) heldUp(by string) (done func()) {
	c.holdup.Store(by)
	return func() { c.holdup.Store("") }
}

// stopWatch ends watch when the call begins to run.
func (c *call) stopWatch() { c.stop() }
