package command

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"mcp-toolset/internal/exec/sandbox"
)

const (
	// tryTime is the timeout of a trial, which usually takes some 30 ms.
	tryTime = 20 * time.Second
	// startTime is the part of tryTime that the start of a server waits for.
	startTime = 5 * time.Second
)

// attempt is a trial of the sandbox that runs in the background.
type attempt struct {
	begun    time.Time
	readOnly chan struct{} // closed when report.ReadOnly is known
	done     chan struct{} // closed when the whole report is known
	report   *Report
}

// attempted returns the report, or else the attempt that will produce it. It begins an
// attempt if none is running.
func (c *Commands) attempted() (*Report, *attempt) {
	c.trying.Lock()
	defer c.trying.Unlock()
	switch {
	case c.report != nil:
		return c.report, nil
	case c.attempt != nil:
		return nil, c.attempt
	}
	a := &attempt{begun: time.Now(), readOnly: make(chan struct{}), done: make(chan struct{}), report: &Report{}}
	if err := c.enter(); err != nil {
		a.report.fail(err)
		close(a.readOnly)
		close(a.done)
		return nil, a
	}
	c.attempt = a
	go func() {
		defer c.active.Done()
		c.run(a)
	}()
	return nil, a
}

// Begin starts a trial of the sandbox in the background, unless this server or an
// earlier one has made it. If store is set, the result is stored for later servers even
// if there is no state folder yet.
func (c *Commands) Begin(store bool) {
	c.store.Store(store)
	if _, ok := c.storedPromises(); !ok {
		c.attempted()
	}
}

// Report tries the sandbox once and returns the result. If a trial failed, for lack of
// descriptors or memory, the next call repeats it.
func (c *Commands) Report(ctx context.Context) *Report {
	r, a := c.attempted()
	if a == nil {
		return r
	}
	return a.wait(ctx, a.done, tryTime)
}

// wait waits until part is closed and returns the report. If ctx ends first, or most
// has passed since the attempt began, the returned report holds that error.
func (a *attempt) wait(ctx context.Context, part <-chan struct{}, most time.Duration) *Report {
	late := time.NewTimer(time.Until(a.begun.Add(most)))
	defer late.Stop()
	err := fmt.Errorf("the containment could not be tried within %v", most)
	select {
	case <-part:
		return a.report
	case <-late.C:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	r := &Report{}
	r.fail(err)
	return r
}

func (r *Report) fail(err error) { r.Write.Err, r.ReadOnly.Err = err, err }

// run performs an attempt.
func (c *Commands) run(a *attempt) {
	ctx, cancel := context.WithTimeout(context.Background(), tryTime)
	defer cancel()
	r := a.report
	final := c.tryReadOnly(ctx, r)
	c.remember(r.ReadOnly)
	if !final {
		c.forget(a) // so that a caller who sees the failure can try again
	}
	close(a.readOnly)
	if final && r.ReadOnly.Err == nil {
		r.Write = c.try(ctx, false)
		final = r.Write.Err == nil || !sandbox.Supported
	}
	c.trying.Lock()
	if c.attempt == a {
		c.attempt = nil
	}
	if final {
		c.report = r
	}
	tell := c.onTried
	c.trying.Unlock()
	close(a.done)
	switch {
	case final && tell != nil:
		tell()
	case !final && sandbox.Supported && !c.isClosed():
		c.config.Log.Warn("commands are not contained for now", "error", cmp.Or(r.TierErr, r.ReadOnly.Err, r.Write.Err).Error())
	}
}

// forget allows another attempt to begin.
func (c *Commands) forget(a *attempt) {
	c.trying.Lock()
	defer c.trying.Unlock()
	if c.attempt == a {
		c.attempt = nil
	}
}

// tryReadOnly fills in the report except for Write, which the list of tools does not
// have to wait for. It reports whether the report is final.
func (c *Commands) tryReadOnly(ctx context.Context, r *Report) (final bool) {
	if r.Tier, r.TierErr = c.runner.Tier(ctx); r.TierErr != nil {
		r.fail(r.TierErr)
		return false
	}
	r.TierMissing = c.runner.Missing()
	err := c.disabledReason()
	if err == nil && onWindows {
		err = sandbox.Within(sandbox.Policy{}, nil, nil) // returns why there is no sandbox
	}
	if err != nil {
		r.fail(err)
		return true
	}
	if r.ReadOnly = c.try(ctx, true); r.ReadOnly.Err != nil {
		r.Write.Err = r.ReadOnly.Err
	}
	return r.ReadOnly.Err == nil || !sandbox.Supported
}
