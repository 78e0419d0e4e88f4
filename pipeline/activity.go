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
)

// activity is what the client is informed of while a call runs.
type activity struct {
	mu    sync.Mutex
	text  string    // set by the tool; "": that of the call
	began time.Time // when the call began to run
	sent  bool      // a progress was sent since then
	last  float64   // the value sent with the text; -1: it was not sent
}

// announce sends the activity text once the call has run for activityAfter, unless the tool has
// reported progress by then or stop was called. It does nothing if the client did not ask for
// progress.
func (c *call) announce() (stop func()) {
	if c.Progress == nil || c.depth > 0 {
		return func() {}
	}
	a := &c.activity
	a.mu.Lock()
	a.began = c.p.Now()
	a.mu.Unlock()
	timer := time.AfterFunc(activityAfter, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.sent {
			return
		}
		if a.text == "" {
			a.text = c.prepared.Activity(c.env.Session.Dir)
		}
		a.sent, a.last = true, c.waitedFor()
		c.Progress(tools.Progress{Done: a.last, Message: a.text})
	})
	return func() { timer.Stop() }
}

// waitedFor returns the progress that watch has reported, in seconds. What follows must be larger,
// because MCP requires progress to increase.
func (c *call) waitedFor() float64 {
	ms := c.waited.Load()
	if ms > 0 {
		ms++
	}
	return float64(ms) / 1000
}

// progress forwards the tool's progress, added to that of watch. It drops a report that is not
// more than what was sent with the activity text.
func (c *call) progress(p tools.Progress) {
	a := &c.activity
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.Activity != "" {
		a.text = tools.Line(p.Activity)
		if a.last < 0 || !a.sent { // announce sends it, or the tool's own reports say more
			return
		}
		p = tools.Progress{Done: c.p.Now().Sub(a.began).Seconds(), Message: a.text}
	}
	before := c.waitedFor()
	if p.Done += before; p.Total > 0 {
		p.Total += before
	}
	if a.sent && a.last >= p.Done {
		return
	}
	a.sent = true
	c.Progress(p)
}

// sum adds the one-line summary to the _meta of the answer to a client's call. err is why the call
// was not done, if it was not.
func (c *call) sum(resp *tools.Response, err error) {
	if resp == nil || c.depth > 0 {
		return
	}
	text := ""
	switch {
	case c.record.stage != "":
		fact := c.record.fact
		if f, ok := errors.AsType[*tools.Fault](err); ok {
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
