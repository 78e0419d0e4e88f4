package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"mcp-toolset/internal/host"
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
	if c.lost != nil {
		return c.lost
	}
	c.dropHostKeys()
	if c.tool.Unwrap == nil {
		return nil
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
	c.onlyReads = c.tool.Hints.ReadOnly
	c.tool, c.Tool, c.Arguments, c.record.input = inner, inner.Name, args, args
	c.dropHostKeys()
	return nil
}

// dropHostKeys removes the properties that the client adds to the input of each tool, except
// those that this tool has.
func (c *call) dropHostKeys() {
	h := host.Of(c.Session.View().Client)
	if len(h.Keys) == 0 {
		return
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(c.Arguments, &all) != nil {
		return // it is refused when it is parsed
	}
	dropped := false
	for _, key := range h.Keys {
		value, sent := all[key]
		if !sent || c.tool.HasInput(key) {
			continue
		}
		dropped = true
		c.barrier = c.barrier || key == h.Barrier && string(value) == "true"
		delete(all, key)
		c.Log.Debug("a property of the client was dropped", "tool", c.tool.Name, "client", h.Name, "property", key)
	}
	if !dropped || tools.WellFormed(c.Arguments) != nil { // a repeated name is refused when it is parsed
		return
	}
	if rest, err := json.Marshal(all); err == nil {
		c.Arguments, c.record.input = rest, rest
	}
}
