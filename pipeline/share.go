package pipeline

import (
	"context"
	"fmt"
	"strings"

	"mcp-toolset/tools"
)

// share runs the tool, or waits for an identical running call and returns a
// copy of its result. Each of the calls gets the effects for its own session.
// Only read-only calls whose result does not depend on the session are
// deduplicated. A call that is only decided does not run.
func (c *call) share(ctx context.Context) (*tools.Response, error) {
	if c.Unrun {
		return &tools.Response{Private: true}, nil
	}
	if !c.safe || !c.prepared.Facts.ReadOnly || !c.prepared.Shared(c.env) || c.p.Shared == nil || c.hookedAfter() || c.tool.Interrupt == tools.Finish {
		out, err := c.execute(ctx)
		c.effects = append(c.effects, out.effects...)
		return out.resp, err
	}
	value, shared, err := c.p.Shared.Do(ctx, c.Ticket, c.key(), func(ctx context.Context) (any, error) {
		out, err := c.execute(ctx)
		return shareable{out, c.Session.View().ID}, err
	})
	s, ok := value.(shareable)
	if ok && shared && s.private && s.session != c.Session.View().ID {
		// The result is private to the other session, so this call runs by
		// itself.
		if err := c.Ticket.Resume(ctx); err != nil {
			return nil, err
		}
		out, err := c.execute(ctx)
		c.effects = append(c.effects, out.effects...)
		return out.resp, err
	}
	c.effects = append(c.effects, s.effects...)
	if err != nil {
		return nil, err
	}
	return s.resp.Clone(), nil
}

// shareable is an outcome with the id of the session it comes from.
type shareable struct {
	outcome
	session string
}

// key returns a key that is equal only for calls with the same result. The path is in it
// beside the input, because JSON cannot tell paths apart that are not UTF-8.
func (c *call) key() string {
	v := c.env.Session
	return strings.Join(append([]string{fmt.Sprintf("%p", c.set), c.tool.Name, string(c.prepared.Input()), c.prepared.Path, v.Dir, v.Principal}, v.Roots...), "\x00")
}
