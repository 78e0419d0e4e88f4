package pipeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"mcp-toolset/internal/bounded"
	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/file/ospath"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/policy"
	"mcp-toolset/tools"
	"mcp-toolset/web/site"
)

// decide is the stage that asks the policy, and finds out which grants the call
// needs.
func (c *call) decide(ctx context.Context) (err error) {
	if c.decision, err = c.byPolicy(ctx); err != nil {
		return err
	}
	c.decision = c.openFor(c.decision)
	return nil
}

// resolveTime is the timeout for following the links of a path. While a call
// waits for that, it blocks the later calls of its lane.
const resolveTime = 10 * time.Second

// byPolicy asks the policy about the call. The path of a read-only call is
// checked for reading, that of any other call for editing.
func (c *call) byPolicy(ctx context.Context) (policy.Decision, error) {
	r, env := c.prepared, c.env
	var err error
	base := policy.Base{Dir: env.Session.Dir, Home: c.p.Home}
	req := policy.Request{
		Tool: c.tool.Name, Aliases: c.tool.Aliases, As: r.As, Dir: env.Session.Dir, ReadOnly: r.Facts.ReadOnly,
		Match: r.Matcher(base), Readable: c.readable(env.Session), Own: r.Check(env), Hook: c.opinion, Typed: r.Types(env),
	}
	if req.Mentions, err = c.mentions(ctx); err != nil {
		return policy.Decision{}, err
	}
	c.target, c.access = nil, policy.Edit
	if r.Facts.ReadOnly {
		c.access = policy.Read
	}
	if parts := r.Parts(env); parts != nil {
		if req.Parts, err = c.parts(ctx, parts); err != nil {
			return policy.Decision{}, err
		}
		spareScratch(req.Parts)
		req.Links = protectedLinks(env.Session.Roots, req.Parts.Targets...)
		req.Parts.Covered = c.covered(ctx, req)
		c.subject = approval.Subject{Kind: "command", Value: parts.Text, Dir: env.Session.Dir, Opens: c.opening(req)}
		if req.Own != nil && req.Own.Layer == policy.LayerSandbox {
			c.subject.Opens = "everything"
		}
		return c.decideOn(req), nil
	}
	if r.Site != nil {
		req.Site = r.Site
		c.subject = approval.Subject{Kind: "site", Value: c.agreedSite(*r.Site).String()}
		networked := false
		if c.p.Serves != nil && c.tool.Name != approval.Network && r.Site.Class() == site.Loopback {
			req.Served, networked = c.p.Serves(ctx, env.Session, r.Site.Port)
		}
		d := c.decideOn(req)
		if networked && !req.Served && d.Behavior == policy.Deny && d.Layer == policy.LayerSite {
			d.Reason, d.Next = unserved(*r.Site)
		}
		return d, nil
	}
	if r.Path == "" {
		c.subject = approval.Subject{Kind: "input", Value: string(r.Input())}
		return c.decideOn(req), nil
	}
	canonical, broken, err := follow(ctx, r.Path)
	if err != nil {
		return policy.Decision{}, err
	}
	req.Target = &policy.Target{Literal: c.shown(r.Path), Canonical: canonical, Access: c.access, Free: c.free(r.Path, canonical, c.access)}
	req.Links = protectedLinks(env.Session.Roots, *req.Target)
	c.subject = approval.Subject{Kind: "path", Access: c.access.String(), Value: canonical}
	d := c.decideOn(req)
	if broken != nil && d.Behavior == policy.Allow {
		return d, invalid(&tools.Fault{Fact: "the path cannot be followed: " + plain.Line(broken.Error()), Next: "Use another path."})
	}
	if d.Behavior == policy.Allow && (d.Layer == policy.LayerReadOnly || d.Layer == policy.LayerDefault) {
		return d, nil // nothing asks about the path
	}
	// Decided now, not when the path is opened: what is found out about it in
	// the meantime was not in the question.
	if asks := c.rules.CheckPath(c.tool.Name, c.tool.Aliases, *req.Target, req.Dir, req.Readable); asks.Behavior == policy.Ask {
		c.target = &target{canonical, asks}
	}
	return d, nil
}

// target is the path of a call, with the decision to ask about the path alone.
type target struct {
	canonical string
	asks      policy.Decision
}

// decideOn asks the policy, after adding the user's earlier answers about the
// same subject.
func (c *call) decideOn(req policy.Request) policy.Decision {
	if store := c.p.Approvals; store != nil {
		v := c.Session.View()
		for _, name := range c.names() {
			if declined, wrote := store.Declined(v.ID, name, c.subject); declined {
				req.Declined, req.Wrote = true, wrote
			}
			req.Always = req.Always || store.Always(v.Principal, name, c.subject, v.Project()) || store.Agreed(v.ID, name, c.subject)
		}
	}
	c.asked = req
	return c.rules.Decide(req)
}

// names returns the names of the tools for which the user's answers to the call hold.
func (c *call) names() []string {
	if as := c.prepared.As; as != "" {
		return []string{c.tool.Name, as}
	}
	return []string{c.tool.Name}
}

// hookNames returns the names besides that of the tool by which hooks match the call.
func (c *call) hookNames() []string { return append(slices.Clone(c.tool.Aliases), c.names()[1:]...) }

// follow returns the canonical path. If the path cannot be resolved, follow
// returns it unchanged, with the reason as broken. The reason is not an error
// of the call yet: for a path the policy refuses, the model must not learn it.
// follow fails if ctx ends, resolving exceeds resolveTime, or the path itself
// is invalid.
func follow(ctx context.Context, path string) (canonical string, broken, err error) {
	canonical, err = bounded.Do(ctx, resolveTime, func(context.Context) (string, error) { return workspace.Canonical(path) })
	switch {
	case ctx.Err() != nil:
		return "", nil, context.Cause(ctx)
	case errors.Is(err, bounded.ErrTime), errors.Is(err, bounded.ErrTooMany):
		return "", nil, &tools.Fault{
			Fact: plain.Line(path) + " cannot be followed: " + err.Error(),
			Next: "Use another path, or try again later.",
		}
	}
	var wrong *ospath.Fault
	if errors.As(err, &wrong) { // found without access to the file system
		return "", nil, invalid(&tools.Fault{Fact: plain.Line(path) + " " + wrong.Fact, Next: wrong.Next})
	}
	if err != nil {
		return path, err, nil
	}
	return canonical, nil, nil
}
