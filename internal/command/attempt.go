package command

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"mcp-toolset/internal/sandbox"
)

const (
	// tryTime is how long trying may take: it takes some 30 ms.
	tryTime = 20 * time.Second
	// startTime is how much of it the start of a server waits for.
	startTime = 5 * time.Second
)

// attempt is one trial of the containment, in the background.
type attempt struct {
	begun    time.Time
	readOnly chan struct{} // closed when report.ReadOnly is known
	done     chan struct{} // closed when all of report is
	report   *Report
}

// attempted returns the report, or the attempt that will produce one. It begins an
// attempt if none is under way.
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

// Begin has the containment tried in the background if it has not been, here or
// by an earlier server.
func (c *Commands) Begin() {
	if _, ok := c.knownReadOnly(); !ok {
		c.attempted()
	}
}

// Report tries the containment once and returns the result. A trial that failed, for
// lack of descriptors or memory, is repeated by the next call.
func (c *Commands) Report(ctx context.Context) *Report {
	r, a := c.attempted()
	if a == nil {
		return r
	}
	return a.wait(ctx, a.done, tryTime)
}

// wait waits for a part of the report, at most for a time since the attempt began.
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

// run makes an attempt.
func (c *Commands) run(a *attempt) {
	ctx, cancel := context.WithTimeout(context.Background(), tryTime)
	defer cancel()
	r := a.report
	final := c.tryReadOnly(ctx, r)
	c.remember(r.ReadOnly)
	if !final {
		c.forget(a) // so that a caller that sees the failure can try again
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

// forget makes room for another attempt.
func (c *Commands) forget(a *attempt) {
	c.trying.Lock()
	defer c.trying.Unlock()
	if c.attempt == a {
		c.attempt = nil
	}
}

// tryReadOnly fills in a report except for Write, for which the list of tools does
// not have to wait. It reports whether the report is final.
func (c *Commands) tryReadOnly(ctx context.Context, r *Report) (final bool) {
	if r.Tier, r.TierErr = c.runner.Tier(ctx); r.TierErr != nil {
		r.fail(r.TierErr)
		return false
	}
	r.TierMissing = c.runner.Missing()
	err := c.unwanted()
	if err == nil && onWindows {
		err = sandbox.Within(sandbox.Policy{}, nil) // returns why there is none
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
