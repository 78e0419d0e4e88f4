package assembly

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"time"

	"mcp-toolset/concurrency"
	"mcp-toolset/console/feed"
	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/pipeline"
	"mcp-toolset/session"
)

// observe adds the observer of the console to a scheduler. It does nothing for a server that does
// not serve clients.
func (a *Assembly) observe(c *Config) {
	if !c.Approvals {
		return
	}
	a.ring = new(feed.Ring)
	first := c.Scheduler.Observe
	c.Scheduler.Observe = a.ring.Observe
	if first != nil {
		c.Scheduler.Observe = func(r concurrency.Record) {
			first(r)
			a.ring.Observe(r)
		}
	}
}

// describe makes the feed for the console, which the private socket serves.
func (a *Assembly) describe(c Config, roots []string, approvals *approval.Store) {
	if a.ring == nil {
		return
	}
	a.Feed = feed.New(feed.Config{
		Name: strings.Join(roots, ", "), Version: c.Version, Transport: "stdio", Mode: string(a.Mode), Process: os.Getpid(), Started: time.Now(),
		Roots: roots, Scheduler: a.Scheduler, Ring: a.ring, Approvals: approvals, Log: c.Log,
		Parts: feed.Parts{
			Explain: a.explainIn,
		},
	})
	if c.Remote {
		a.Feed.Transport = "http"
	}
	approvals.Socket().Handle(feed.Word, feed.Handler(a.Feed))
	a.approvals = approvals
}

// explainIn explains a call in a folder.
func (a *Assembly) explainIn(ctx context.Context, dir, tool string, input json.RawMessage) pipeline.Explanation {
	s := session.New(session.Config{Roots: a.Server.Roots.Paths()})
	if dir != "" {
		s.Apply(session.Effect{Dir: dir})
	}
	return a.pipeline.Explain(ctx, pipeline.Request{Tool: tool, Arguments: input, Session: s, Log: a.log})
}

// Appear makes the server visible to `mcp-toolset console`, in the background. If that fails, the
// first approval tries again and reports it.
func (a *Assembly) Appear() {
	if a.Feed == nil {
		return
	}
	go func() {
		if err := a.approvals.Socket().Open(); err != nil {
			a.log.Debug("the console cannot show this server", "error", err.Error())
		}
	}()
}

// used returns the function that is called when a session is used.
func (a *Assembly) used(c Config) func(session.View) {
	return func(v session.View) {
		if a.Feed != nil {
			a.Feed.Use(v)
		}
		if c.Used != nil {
			c.Used(v)
		}
	}
}
