package pipeline

import (
	"context"
	"errors"
	"fmt"

	"mcp-toolset/tools"
)

// This file finds what a request calls. A wrapping tool (CallTool) stands for the
// one it names, and from here on the call is one of that: nothing is judged,
// scheduled, shown to hooks or written down as a call of the wrapper.

// called is the tool that a request calls. Of a call of a wrapping tool the
// request becomes the one that it names; bad says why that cannot be.
func (p *Pipeline) called(ctx context.Context, r *Request) (t *tools.Tool, bad *refusal, err error) {
	t, err = p.find(ctx, r, r.Tool)
	var unknown *tools.UnknownTool
	switch {
	case err != nil && !errors.As(err, &unknown):
		return &tools.Tool{Name: r.Tool, MaxResultSize: tools.DefaultResultSize}, explain(ctx, err), nil
	case err != nil || t.Unwrap == nil:
		return t, nil, err
	}
	name, args, err := t.Unwrap(r.Arguments)
	if err != nil {
		return t, invalid(err), nil
	}
	inner, err := p.find(ctx, r, name)
	switch {
	case err != nil && !errors.As(err, &unknown):
		return t, explain(ctx, err), nil
	case err != nil:
		if unknown.Absent != nil {
			return t, &refusal{stageRefused, err.Error(), "Use another tool."}, nil
		}
		return t, &refusal{stageInvalid, err.Error(), ""}, nil
	case inner.Unwrap != nil:
		return t, &refusal{stageInvalid, fmt.Sprintf("%s cannot call %s", t.Name, inner.Name), "Name the tool that is to do the work."}, nil
	}
	r.Tool, r.Arguments = inner.Name, args
	return inner, nil, nil
}
