package pipeline

import (
	"context"
	"strings"

	"mcp-toolset/tools"
)

// share runs the tool, or waits for an identical call that is running and has
// its result. What a session is to remember of it is remembered of each. Only
// what reads and does not depend on its session is shared.
func (c *call) share(ctx context.Context, r *tools.Resolved, env *tools.Env) (*tools.Response, error) {
	run := func(ctx context.Context) (outcome, error) { return c.execute(ctx, r, env) }
	if !c.safe || !r.Facts.ReadOnly || !r.Shared(env) || c.p.Shared == nil || c.hookedAfter() || c.tool.Interrupt == tools.Finish {
		out, err := run(ctx)
		c.effects = append(c.effects, out.effects...)
		return out.resp, err
	}
	value, shared, err := c.p.Shared.Do(ctx, c.Ticket, c.key(r, env), func(ctx context.Context) (any, error) {
		out, err := run(ctx)
		return shareable{out, c.Session.View().ID}, err
	})
	s, ok := value.(shareable)
	if ok && shared && s.private && s.session != c.Session.View().ID {
		// What it says is true of the other session, or is stored for it.
		if err := c.Ticket.Resume(ctx); err != nil {
			return nil, err
		}
		out, err := run(ctx)
		c.effects = append(c.effects, out.effects...)
		return out.resp, err
	}
	c.effects = append(c.effects, s.effects...)
	if err != nil {
		return nil, err
	}
	return s.resp.Clone(), nil
}

// shareable is an outcome and whose it is.
type shareable struct {
	outcome
	session string
}

// key tells calls apart whose results may differ.
func (c *call) key(r *tools.Resolved, env *tools.Env) string {
	v := env.Session
	return strings.Join(append([]string{c.tool.Name, string(r.Input()), v.Dir, v.Principal}, v.Roots...), "\x00")
}
