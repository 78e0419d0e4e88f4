package pipeline

import (
	"context"
	"errors"
	"fmt"

	"mcp-toolset/tools"
)

// This file finds what a request calls. A tool of an upstream server may have to
// be waited for; a wrapping tool (CallTool) stands for the one it names, and
// from here on the call is one of that: nothing is judged, scheduled, shown to
// hooks or written down as a call of the wrapper.

// Lookup finds a tool by name or former name. A tool that may be one of an
// upstream server which is not connected is waited for. The error is a
// *tools.UnknownTool.
func (p *Pipeline) Lookup(ctx context.Context, name string) (*tools.Tool, error) {
	t, err := p.Registry.Lookup(name)
	var unknown *tools.UnknownTool
	if p.Await == nil || !errors.As(err, &unknown) || unknown.Absent != nil {
		return t, err
	}
	p.Await(ctx, name)
	return p.Registry.Lookup(name)
}

// called is the tool that a request calls. Of a call of a wrapping tool the
// request becomes the one that it names; bad says why that cannot be.
func (p *Pipeline) called(ctx context.Context, r *Request) (t *tools.Tool, bad *refusal, err error) {
	if t, err = p.Lookup(ctx, r.Tool); err != nil || t.Unwrap == nil {
		return t, nil, err
	}
	name, args, err := t.Unwrap(r.Arguments)
	if err != nil {
		return t, invalid(err), nil
	}
	inner, err := p.Lookup(ctx, name)
	switch {
	case err != nil:
		var unknown *tools.UnknownTool
		if errors.As(err, &unknown) && unknown.Absent != nil {
			return t, &refusal{stageRefused, err.Error(), "Use another tool."}, nil
		}
		return t, &refusal{stageInvalid, err.Error(), ""}, nil
	case inner.Unwrap != nil:
		return t, &refusal{stageInvalid, fmt.Sprintf("%s cannot call %s", t.Name, inner.Name), "Name the tool that is to do the work."}, nil
	}
	r.Tool, r.Arguments = inner.Name, args
	return inner, nil, nil
}

// prepare has what the tool needs made ready, which takes no slot: a server that
// does not answer holds up what is behind the call and nobody else. Where that
// shows that the tool is not what was decided on, it returns the call of what it
// is now.
func (c *call) prepare(ctx context.Context) (*tools.Call, error) {
	if c.tool.Prepare == nil {
		return nil, nil
	}
	done := c.heldUp("the server " + c.tool.Server)
	err := c.tool.Prepare(ctx)
	done()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	now, err := c.p.Registry.Lookup(c.tool.Name)
	if err != nil {
		return nil, &tools.Fault{Fact: "the server " + c.tool.Server + " no longer has this tool", Next: "Use another tool."}
	}
	if now == c.tool {
		return nil, nil
	}
	c.tool = now
	c.before.agreed = nil // to another tool
	parsed, err := now.Parse(c.Arguments)
	if err != nil {
		return nil, invalid(err)
	}
	return parsed, nil
}
