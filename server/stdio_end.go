package server

// A stdio connection ends here: calls in progress finish as long as the client
// reads answers, and no further call starts.

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"
)

// readerEvery is the interval at which a server whose input has ended checks
// whether the client still reads answers.
const readerEvery = 20 * time.Millisecond

// drain waits for calls in progress, at most for d and while the client still
// reads. It ends listen streams at once.
func (c *stdioConn) drain(ctx context.Context, d time.Duration) {
	c.mu.Lock()
	for _, r := range c.inflight {
		if r.listen {
			r.cancel(context.Canceled)
		}
	}
	c.mu.Unlock()
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		c.watchReader(watching)
	}()
	if left := c.wait(d, c.done); left > 0 && ctx.Err() == nil {
		c.s.Log.Warn("calls cut off: the client is gone and the drain time is over", "calls", left)
	}
	stop()
	<-watched
}

// watchReader ends the connection when the client no longer reads. A client
// that has died closes its input and output at once. Without watchReader, only
// the first answer would show that, and until then queued calls would start.
func (c *stdioConn) watchReader(ctx context.Context) {
	out, ok := c.out.(syscall.Conn)
	if !ok {
		return
	}
	tick := time.NewTicker(readerEvery)
	defer tick.Stop()
	for !c.busy() || !readerClosed(out) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	c.disconnect(syscall.EPIPE)
}

// busy reports whether requests are being served.
func (c *stdioConn) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active > 0
}

// disconnect ends the connection to a client that is gone.
func (c *stdioConn) disconnect(err error) {
	c.stop(fmt.Errorf("writing standard output: %w", err)) // first: ending requests also find no reader
	c.end()
}

// wait waits until no request is being served, at most for d or until early is
// closed. It returns the number of requests that remain.
func (c *stdioConn) wait(d time.Duration, early <-chan struct{}) (left int) {
	c.mu.Lock()
	if c.active == 0 {
		c.mu.Unlock()
		return 0
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	idle := c.idle
	c.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	case <-early:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active
}

// end cancels all requests without an answer, the latest first. In another
// order, the end of a running call would start a waiting one that is about to
// be cancelled. Requests that arrive later are cancelled at once.
func (c *stdioConn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, r := range slices.SortedFunc(maps.Values(c.inflight), func(a, b *request) int { return cmp.Compare(b.number, a.number) }) {
		r.cancel(context.Canceled)
	}
}
