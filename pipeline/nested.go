package pipeline

import (
	"context"
	"encoding/json"
	"fmt"

	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// maxDepth is the maximum depth of nested calls.
const maxDepth = 8

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
	inner.Tool, inner.Found, inner.Arguments, inner.ID, inner.Ask, inner.Resumed = name, nil, args, "", nil, nil // the client cannot be asked during a nested call
	inner.Ticket = nil                                                                                           // the outer call has the place
	if c.Progress != nil {
		inner.Progress = c.progress
	}
	n := c.p.newCall(inner)
	n.depth, n.record.parent = c.depth+1, c.ID
	if n.depth > maxDepth {
		return nil, &tools.Fault{Fact: fmt.Sprintf("calls are nested more than %d deep", maxDepth)}
	}
	if err := n.lookup(ctx); err != nil {
		return nil, err
	}
	defer func() { resp, err = n.finish(ctx, resp, err) }()
	defer n.recover(&err)
	if err := stages(ctx, n.unwrap, n.connect, n.parse, n.judge, n.settle); err != nil {
		return nil, err
	}
	if c.safe && !n.safe {
		return nil, &tools.Fault{Fact: fmt.Sprintf("%s runs beside other calls and %s may not", c.tool.Name, n.tool.Name)}
	}
	out, err := n.execute(ctx)
	if n.private.Load() {
		c.private.Store(true)
	}
	*effects = append(*effects, out.effects...)
	// An unsafe call runs alone in its lane, so its effects apply immediately.
	// The effects of a safe call wait for the order of arrival.
	if !c.safe {
		c.apply(*effects)
		*effects = nil
	}
	return out.resp, err
}
