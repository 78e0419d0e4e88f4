package server

import (
	"context"
	"sync/atomic"
	"time"
)

// Idle finds out when an HTTP server was not used for a time. Requests for its health and its
// figures, and those that the guard refuses, are no use.
type Idle struct {
	After time.Duration
	Busy  func() bool // reports whether there is work without a request

	active atomic.Int64 // requests in progress
	events atomic.Int64 // begins and ends of requests
}

// enter records a request until leave is called.
func (i *Idle) enter() (leave func()) {
	if i == nil {
		return func() {}
	}
	i.active.Add(1)
	i.events.Add(1)
	return func() {
		i.events.Add(1)
		i.active.Add(-1)
	}
}

// Await waits until there was neither a request nor other work for the time, or ctx ends. It reports
// whether the time has passed.
func (i *Idle) Await(ctx context.Context) bool {
	tick := time.NewTicker(i.After / 10)
	defer tick.Stop()
	since, seen, used := time.Now(), i.events.Load(), false
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		now, events := time.Now(), i.events.Load()
		switch {
		case events != seen || i.active.Load() > 0 || i.Busy():
			seen, used = events, true
		case used:
			since, used = now, false
		case now.Sub(since) >= i.After:
			return true
		}
	}
}

// drainLook is the interval at which drained looks for the end of requests.
const drainLook = 20 * time.Millisecond

// drained waits until no request is in progress, or ctx ends.
func (i *Idle) drained(ctx context.Context) {
	tick := time.NewTicker(drainLook)
	defer tick.Stop()
	for i.active.Load() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
