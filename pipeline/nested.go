package pipeline

import (
	"context"
	"encoding/json"
	"fmt"

	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// nested runs a call that a running call makes. It runs in the outer call's
// place and slot and never waits for its own. The policy decides on it
// separately. The inner call's effects are added to effects.
func (c *call) nested(ctx context.Context, name string, args json.RawMessage, effects *[]session.Effect) (resp *tools.Response, err error) {
	c.nesting.Lock()
	defer c.nesting.Unlock()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	inner := c.Request
	inner.Tool, inner.Arguments, inner.ID, inner.Ask, inner.Resumed = name, args, "", nil, nil // the client cannot be asked during a nested call
	inner.Ticket = nil                                                                         // the outer call has the place
	tool, bad, err := c.p.called(ctx, &inner)
	if err != nil {
		return nil, err
	}
	n := c.p.newCall(inner, tool)
	n.depth, n.record.parent = c.depth+1, c.ID
	if n.depth > maxDepth {
		return nil, &tools.Fault{Fact: fmt.Sprintf("calls are nested more than %d deep", maxDepth)}
	}
	defer func() { resp = n.finish(ctx, resp, err) }()
	defer n.recover(&resp)
	if bad == nil && tool.Connect != nil {
		if err := tool.Connect(ctx); err != nil {
			bad = explain(ctx, err)
		}
	}
	if bad != nil {
		return n.refuse(bad), nil
	}
	parsed, err := tool.Parse(inner.Arguments)
	if err != nil {
		return n.refuse(invalid(err)), nil
	}
	env := n.env()
	resolved, err := n.decide(ctx, parsed, env)
	if err == nil && c.safe && !n.safe {
		err = &tools.Fault{Fact: fmt.Sprintf("%s runs beside other calls and %s may not", c.tool.Name, tool.Name)}
	}
	if err == nil {
		var out outcome
		out, err = n.execute(ctx, resolved, env)
		resp = out.resp
		if n.private.Load() {
			c.private.Store(true)
		}
		*effects = append(*effects, out.effects...)
	}
	// An unsafe call runs alone in its lane, so its effects apply immediately.
	// The effects of a safe call wait for the order of arrival.
	if !c.safe {
		c.apply(*effects)
		*effects = nil
	}
	if err != nil {
		return n.refuse(explain(ctx, err)), nil
	}
	return resp, nil
}
