package pipeline

import (
	"context"
	"errors"
	"fmt"

	"mcp-toolset/tools"
)

// lookup is the stage that finds the tool. Its error is a *tools.UnknownTool: no
// tool has the name.
func (c *call) lookup(ctx context.Context) (err error) {
	c.tool = c.Found
	if c.tool == nil {
		c.tool, err = c.find(ctx, c.Tool)
	}
	var unknown *tools.UnknownTool
	if err != nil && !errors.As(err, &unknown) {
		c.tool, c.lost, err = &tools.Tool{Name: c.Tool, MaxResultSize: tools.DefaultResultSize}, err, nil
	}
	return err
}

// unwrap is the stage that replaces a call of a tool with Unwrap, such as
// CallTool, by the inner call. Decisions, scheduling, hooks and the audit log
// see only that.
func (c *call) unwrap(ctx context.Context) error {
	if c.lost != nil || c.tool.Unwrap == nil {
		return c.lost
	}
	name, args, err := c.tool.Unwrap(c.Arguments)
	if err != nil {
		return invalid(err)
	}
	inner, err := c.find(ctx, name)
	var unknown *tools.UnknownTool
	switch {
	case errors.As(err, &unknown) && unknown.Absent != nil:
		return &refusal{stageRefused, err.Error(), "Use another tool."}
	case errors.As(err, &unknown):
		return &refusal{stageInvalid, err.Error(), ""}
	case err != nil:
		return err
	case inner.Unwrap != nil:
		return &refusal{stageInvalid, fmt.Sprintf("%s cannot call %s", c.tool.Name, inner.Name), "Name the tool that is to do the work."}
	}
	c.tool, c.Tool, c.Arguments, c.record.input = inner, inner.Name, args, args
	return nil
}
