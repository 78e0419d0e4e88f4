package assembly

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"strings"
	"time"

	"mcp-toolset/console/feed"
	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/pipeline"
	"mcp-toolset/session"
	"mcp-toolset/tools/work"
)

// observe adds the observer of the console to a scheduler. It does nothing for a server that does
// not serve clients.
func (a *Assembly) observe(c *Config) {
	if !c.Approvals {
		return
	}
	a.ring = new(feed.Ring)
	c.Scheduler.Left = a.ring.Add
}

// describe makes the feed for the console, which the private socket serves.
func (a *Assembly) describe(c Config, roots []string, to *pipeline.Config) {
	if a.ring == nil {
		return
	}
	parts, approvals := c.Console, to.Approvals
	parts.Explain, parts.Journal, parts.Events, parts.Undo = a.explainIn, c.Journal, c.Events, to.Undo
	parts.Instance, parts.AddTo = to.Instance, cmp.Or(c.AddTo, c.Settings.Source())
	parts.Always = func() ([]approval.Entry, error) { return approval.Entries(a.State) }
	if a.follower != nil {
		parts.Settings = a.follower.holding
	}
	if parts.AuditFile != "" {
		parts.Audit = func(q audit.Query) (audit.Found, error) { return audit.Find(parts.AuditFile, q) }
	}
	a.Feed = feed.New(feed.Config{
		Name: strings.Join(roots, ", "), Version: c.Version, Transport: "stdio", Mode: string(a.Mode), Process: os.Getpid(), Started: time.Now(),
		Roots: roots, Scheduler: a.Scheduler, Ring: a.ring, Approvals: approvals, Parts: parts,
	})
	if c.Remote {
		a.Feed.Transport = "http"
	}
	approvals.Socket().Handle(feed.Word, feed.Handler(a.Feed))
	a.approvals = approvals
}

// consoleParts returns the parts of a plan for the console.
func (p *Plan) consoleParts(background *task.Registry, lists work.Options) feed.Parts {
	return feed.Parts{Tasks: background, Work: lists.Items, AuditFile: p.options.Audit.Path, Rules: p.rules}
}

// rules lists the rules that hold now.
func (p *Plan) rules() (list []feed.Rule) {
	found, layers := p.found(), map[string]string{}
	for _, l := range found.Layers {
		if l.Settings != nil {
			layers[l.Settings.Source()] = l.Name
		}
	}
	for _, r := range found.Merged.Rules().List() {
		list = append(list, feed.Rule{
			Effect: r.Behavior.String(), Rule: r.Text, Origin: r.Origin.String(), Layer: cmp.Or(layers[r.Origin.Source], "preset"),
		})
	}
	return list
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
