package pipeline

import (
	"context"
	"errors"
	"fmt"

	"mcp-toolset/tools"
)

// A tool with Unwrap, such as CallTool, wraps a call of another tool. The
// pipeline replaces the wrapper by the inner tool before all other stages. So
// decisions, scheduling, hooks and the audit log see only the inner call.

// called returns the tool that r calls. If r calls a wrapping tool, called
// unwraps it: r.Tool and r.Arguments become those of the inner call. It returns
// the reason as bad if that is impossible. The error is a *tools.UnknownTool if
// no tool has the name r.Tool.
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
