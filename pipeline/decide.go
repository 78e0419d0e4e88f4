package pipeline

import (
	"context"
	"errors"
	"time"

	"mcp-toolset/internal/approval"
	"mcp-toolset/internal/bounded"
	"mcp-toolset/internal/ospath"
	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/workspace"
	"mcp-toolset/policy"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// env returns the environment for the tool, with the session's present state.
func (c *call) env() *tools.Env {
	progress := func(tools.Progress) {}
	if c.Progress != nil {
		progress = c.progress
	}
	env := &tools.Env{
		Session: c.Session.View(), Home: c.p.Home, Log: c.Log.With("tool", c.tool.Name),
		Progress: progress, Now: c.p.Now, Hooked: c.hookedAfter(), Snapshots: c.p.Snapshots, Lock: c.p.Locks.Take,
		Catalogue: c.p.Registry.Catalogue, Wake: c.p.Wake,
	}
	// The policy checks each path right before it is opened, and every other
	// path the call opens. So the file that is opened is the one that was
	// allowed.
	more := readable(env.Session)
	env.Files = workspace.NewFiles(c.p.Roots, func(literal, canonical string) error {
		target := policy.Target{Literal: literal, Canonical: canonical, Access: c.access}
		d := c.p.Policy.CheckPath(c.tool.Name, c.tool.Aliases, target, env.Session.Dir, more)
		switch {
		case c.preview.Load() && c.p.Policy.Credentials(canonical):
			return &refusal{stageRefused, "a preview does not show a file that may hold credentials", ""}
		case d.Behavior == policy.Allow, d.Behavior == policy.Ask && c.granted(canonical, d):
			return nil
		case d.Behavior == policy.Ask:
			return &refusal{stageRefused, d.Reason + ", and nobody is asked in the middle of a call", "Name this path itself in a call."}
		}
		return refused(d)
	})
	env.Secrets = func(folder string) func(string) bool {
		if !c.p.Policy.SecretsBelow(folder) {
			return nil
		}
		return func(path string) bool {
			d, secret := c.p.Policy.SecretPath(c.tool.Name, c.tool.Aliases, path, env.Session.Dir, more)
			return secret && !c.granted(path, d)
		}
	}
	if env.Wake == nil {
		env.Wake = func(context.Context, time.Duration) {}
	}
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
	if c.Elicit != nil && c.depth == 0 { // the client cannot be asked during a nested call
		env.Elicit = c.elicit
	}
	kept := c.p.Policy.Kept(env.Session.Dir, false)
	env.ReadDenied, env.ReadRule = kept.Any(policy.Read), kept.InRoots(policy.Read)
	env.Kept = func(ctx context.Context) (tools.Kept, error) {
		return c.p.kept(ctx, env.Session.Dir, c.agreed, c.grants)
	}
	env.Long = func() tools.Long { return c.newLong(env.Private, env.Session.Results) }
	env.SaveParts = func(family, name string, next func() (string, error)) (string, int, error) {
		env.Private()
		return c.p.Results.SaveParts(env.Session.Results, family, name, next)
	}
	return env
}

// granted reports whether the approval of the call also settles an ask decision
// d about a path. The path must be the call's target or below it, and the same
// rule or layer must have decided on both.
func (c *call) granted(canonical string, d policy.Decision) bool {
	t := c.target
	return t != nil && workspace.Within(t.canonical, canonical) && d.Secret == t.asks.Secret &&
		d.Layer == t.asks.Layer && d.Rule == t.asks.Rule && d.Source == t.asks.Source && d.Line == t.asks.Line
}

// readable returns the paths outside of the roots that a session may read.
func readable(v session.View) []string { return append([]string{v.Results}, v.Outputs...) }

// resolveTime is the timeout for following the links of a path. While a call
// waits for that, it blocks the later calls of its lane.
const resolveTime = 10 * time.Second

// decision asks the policy about the call. The path of a read-only call is
// checked for reading, that of any other call for editing.
func (c *call) decision(ctx context.Context, r *tools.Prepared, env *tools.Env, hooks *policy.Opinion) (policy.Decision, error) {
	base := policy.Base{Dir: env.Session.Dir, Home: c.p.Home}
	req := policy.Request{
		Tool: c.tool.Name, Aliases: c.tool.Aliases, Dir: env.Session.Dir, ReadOnly: r.Facts.ReadOnly,
		Match: r.Matcher(base), Readable: readable(env.Session), Own: r.Check(env), Hook: hooks,
	}
	c.access = policy.Edit
	if r.Facts.ReadOnly {
		c.access = policy.Read
	}
	var err error
	if parts := r.Parts(env); parts != nil {
		if req.Parts, err = c.parts(ctx, parts); err != nil {
			return policy.Decision{}, err
		}
		req.Links = c.p.protectedLinks(req.Parts.Targets...)
		c.subject = approval.Subject{Kind: "command", Value: parts.Text, Dir: env.Session.Dir, Opens: c.opening(r, env, req)}
		if req.Own != nil && req.Own.Layer == policy.LayerSandbox {
			c.subject.Opens = "everything"
		}
		return c.decideOn(req), nil
	}
	if r.Path == "" {
		c.subject = approval.Subject{Kind: "input", Value: string(r.Input())}
		return c.decideOn(req), nil
	}
	canonical, broken, err := follow(ctx, r.Path)
	if err != nil {
		return policy.Decision{}, err
	}
	req.Target = &policy.Target{Literal: r.Path, Canonical: canonical, Access: c.access}
	req.Links = c.p.protectedLinks(*req.Target)
	c.subject = approval.Subject{Kind: "path", Access: c.access.String(), Value: canonical}
	d := c.decideOn(req)
	if broken != nil && d.Behavior == policy.Allow {
		return d, invalid(&tools.Fault{Fact: "the path cannot be followed: " + plain.Line(broken.Error()), Next: "Use another path."})
	}
	c.target = nil
	asks := c.p.Policy.CheckPath(c.tool.Name, c.tool.Aliases, *req.Target, req.Dir, req.Readable)
	if asks.Behavior == policy.Ask {
		c.target = &target{canonical, asks}
	}
	return d, nil
}

// target is a path with the ask decision about it.
type target struct {
	canonical string
	asks      policy.Decision
}

// decideOn asks the policy, after adding the user's earlier answers about the
// same subject.
func (c *call) decideOn(req policy.Request) policy.Decision {
	if store := c.p.Approvals; store != nil {
		v := c.Session.View()
		req.Declined = store.Declined(v.ID, c.tool.Name, c.subject)
		req.Always = store.Always(c.tool.Name, c.subject, firstRoot(v))
	}
	c.asked = req
	return c.p.Policy.Decide(req)
}

func firstRoot(v session.View) string {
	if len(v.Roots) == 0 {
		return ""
	}
	return v.Roots[0]
}

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
	case errors.Is(err, bounded.ErrTime), errors.Is(err, bounded.ErrHung):
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
