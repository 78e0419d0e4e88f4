package pipeline

import (
	"context"
	"errors"
	"time"

	"mcp-toolset/internal/bounded"
	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// env makes what the call may know, as the session is now.
func (c *call) env() *tools.Env {
	progress := func(tools.Progress) {}
	if c.Progress != nil {
		progress = c.progress
	}
	env := &tools.Env{
		Session: c.Session.View(), Home: c.p.Home, Log: c.Log.With("tool", c.tool.Name),
		Progress: progress, Now: c.p.Now, Snapshots: c.p.Snapshots, Lock: c.p.Locks.Take,
	}
	// The policy judges a path again right before it is opened, and whatever
	// else the call opens on its way: what was allowed is what is opened.
	env.Files = workspace.NewFiles(c.p.Roots, func(literal, canonical string) error {
		target := policy.Target{Literal: literal, Canonical: canonical, Access: c.access}
		d := c.p.Policy.CheckPath(c.tool.Name, c.tool.Aliases, target, env.Session.Dir, readable(env.Session))
		if d.Behavior != policy.Allow {
			return refused(d)
		}
		return nil
	})
	env.Private = func() { c.private.Store(true) }
	env.Waiting = func() {
		if c.Ticket != nil && c.depth == 0 {
			c.Ticket.Yield()
		}
	}
	env.Outside = func() func() {
		if c.p.Shared == nil {
			return func() {}
		}
		return c.p.Shared.Outside()
	}
	env.ReadDenied = c.p.Policy.DeniesReading()
	env.Denied = func(ctx context.Context) ([]string, error) { return c.p.denied(ctx, env.Session.Dir) }
	env.SaveParts = func(family, name string, next func() (string, error)) (string, int, error) {
		env.Private()
		return c.p.Results.SaveParts(env.Session.Results, family, name, next)
	}
	return env
}

// readable is what a session may read beyond the roots.
func readable(v session.View) []string { return append([]string{v.Results}, v.Outputs...) }

// resolveTime is how long it may take to follow the links of a path: a call
// that waits for that holds up those behind it.
const resolveTime = 10 * time.Second

// decision asks the policy. A read-only call reads its path, any other edits it.
func (c *call) decision(ctx context.Context, r *tools.Resolved, env *tools.Env) (policy.Decision, error) {
	base := policy.Base{Dir: env.Session.Dir, Home: c.p.Home}
	req := policy.Request{
		Tool: c.tool.Name, Aliases: c.tool.Aliases, Dir: env.Session.Dir,
		Match: r.Matcher(base), Readable: readable(env.Session),
	}
	c.access = policy.Edit
	if r.Facts.ReadOnly {
		c.access = policy.Read
	}
	if r.Path == "" {
		return c.p.Policy.Decide(req), nil
	}
	canonical, err := bounded.Do(ctx, resolveTime, func(context.Context) (string, error) { return workspace.Canonical(r.Path) })
	switch {
	case ctx.Err() != nil:
		return policy.Decision{}, context.Cause(ctx)
	case errors.Is(err, bounded.ErrTime), errors.Is(err, bounded.ErrHung):
		return policy.Decision{}, &tools.Fault{
			Fact: plain.Line(r.Path) + " cannot be followed: " + err.Error(),
			Next: "Use another path, or try again later; a person can look after it.",
		}
	case err != nil:
		canonical = r.Path // a path that may not be used does not tell why it leads nowhere
	}
	req.Target = &policy.Target{Literal: r.Path, Canonical: canonical, Access: c.access}
	d := c.p.Policy.Decide(req)
	if err != nil && d.Behavior == policy.Allow {
		return d, invalid(&tools.Fault{Fact: "the path cannot be followed: " + plain.Line(err.Error()), Next: "Use another path."})
	}
	return d, nil
}
