package pipeline

import (
	"context"
	"sync"
	"time"

	"mcp-toolset/internal/plain"
	"mcp-toolset/tools"
)

const (
	// waitQuiet is how long a call waits before its client hears what for, and
	// waitAgain how often it hears again.
	waitQuiet = 2 * time.Second
	waitAgain = 10 * time.Second
)

// watch tells a client that listens what the call waits for, until stop.
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
				waited := c.p.Now().Sub(began)
				c.waited.Store(waited.Milliseconds())
				c.Progress(tools.Progress{Done: waited.Seconds(), Message: "waits for " + plain.Line(why)})
			}
			timer.Reset(waitAgain)
		}
	}()
	return c.stop
}

// waitsFor is what keeps the call from running, "" if nothing does.
func (c *call) waitsFor() string {
	if why, _ := c.holdup.Load().(string); why != "" {
		return why
	}
	return c.Ticket.WaitsFor()
}

// heldUp notes what the call waits for while it is being decided on, until done.
func (c *call) heldUp(by string) (done func()) {
	c.holdup.Store(by)
	return func() { c.holdup.Store("") }
}

// progress is the tool's progress, which goes on from that of watch, since it
// has to grow.
func (c *call) progress(p tools.Progress) {
	before := float64(c.waited.Load()) / 1000
	if p.Done += before; p.Total > 0 {
		p.Total += before
	}
	c.Progress(p)
}

// stopWatch ends watch: the call runs.
func (c *call) stopWatch() { c.stop() }
