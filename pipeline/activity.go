package pipeline

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"mcp-toolset/tools"
)

const (
	// activityAfter is the time that a call has run when its client gets the activity text as
	// progress.
	activityAfter = 500 * time.Millisecond
	// metaSummary is the key in a result's _meta for its one-line summary.
	metaSummary = "mcp-toolset/summary"
	// leastStep is the least that the progress of a call grows by if its tool reports no more.
	leastStep = 0.001
)

// activity is the progress that the client of a call gets. MCP requires its values to increase.
type activity struct {
	mu    sync.Mutex
	text  string      // set by the tool; "": that of the call
	began time.Time   // when the call began to run; zero before
	timer *time.Timer // sends the text; nil: none
	base  float64     // what is added to values of the tool: more than was sent before it ran
	named bool        // the text was sent
	sent  bool        // a progress was sent since the call runs
	last  float64     // the last value sent
	ended bool        // nothing is sent any more
}

// announce sends the activity text once the call has run for activityAfter, unless the tool has
// reported progress by then or the call has ended. It does nothing if the client did not ask for
// progress.
func (c *call) announce() {
	if c.Progress == nil || c.depth > 0 {
		return
	}
	a := &c.activity
	a.mu.Lock()
	defer a.mu.Unlock()
	a.began = c.p.Now()
	if a.last >= 0 {
		a.base = a.last + leastStep
	}
	a.timer = time.AfterFunc(activityAfter, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.sent {
			return
		}
		if a.text == "" {
			a.text = c.prepared.Activity(c.env.Session.Dir)
		}
		a.named = true
		c.report(tools.Progress{Done: a.base, Message: a.text})
	})
}

// endProgress prevents further progress.
func (c *call) endProgress() {
	a := &c.activity
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended = true; a.timer != nil {
		a.timer.Stop()
	}
}

// report sends progress to the client. A value that is not more than the last one, as of a tool
// that counts anew, becomes slightly more than that, without a total. a.mu is held.
func (c *call) report(p tools.Progress) {
	a := &c.activity
	if a.ended {
		return
	}
	if p.Done <= a.last {
		p.Done, p.Total = a.last+leastStep, 0
	}
	a.sent, a.last = !a.began.IsZero(), p.Done
	c.Progress(p)
}

// progress forwards the tool's progress, added to that of watch.
func (c *call) progress(p tools.Progress) {
	a := &c.activity
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.Activity != "" {
		a.text = tools.Line(p.Activity)
		if !a.named { // announce sends it, or the tool's own reports say more
			return
		}
		p = tools.Progress{Done: c.p.Now().Sub(a.began).Seconds(), Message: a.text}
	}
	if p.Done += a.base; p.Total > 0 {
		p.Total += a.base
	}
	c.report(p)
}

// sum adds the one-line summary to the _meta of the answer to a client's call. err is why the call
// was not done, if it was not. A call that is only decided did nothing.
func (c *call) sum(resp *tools.Response, err error) {
	if resp == nil || c.depth > 0 || c.Unrun {
		return
	}
	text := ""
	switch {
	case c.record.stage != "":
		fact := c.record.fact
		if f, ok := errors.AsType[*tools.Fault](err); ok && fact == err.Error() {
			fact = f.Fact // without the next step, which is for models
		}
		fact = strings.ReplaceAll(fact, c.Session.View().Dir+string(filepath.Separator), "")
		text = tools.Line(strings.ToUpper(c.record.stage[:1]) + c.record.stage[1:] + ": " + fact)
	case c.prepared != nil:
		text = c.prepared.Done(resp, c.env.Session.Dir)
	}
	if text == "" {
		return
	}
	if resp.Meta == nil {
		resp.Meta = map[string]any{}
	}
	resp.Meta[metaSummary] = text
}
