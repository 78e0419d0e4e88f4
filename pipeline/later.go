package pipeline

import (
	"context"
	"encoding/json"

	"mcp-toolset/tools"
)

// later runs a tool after this call has ended, in a place of its own in the lane of the
// session. The policy decides on it then.
func (c *call) later(ctx context.Context, tool string, args json.RawMessage) (*tools.Response, error) {
	ticket, err := c.Ticket.Lane().Arrive()
	if err != nil {
		return nil, err
	}
	return c.p.Run(ctx, Request{Tool: tool, Arguments: args, Session: c.Session, Ticket: ticket, Log: c.Log, Unattended: true})
}
