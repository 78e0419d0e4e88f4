package pipeline

import (
	"context"
	"encoding/json"

	"mcp-toolset/tools"
)

// newLater returns Env.Later. It retains nothing of the call. The calls have a lane of their own,
// so that a failed command of the client does not cancel them as part of its batch. It is nil for
// a nested call.
func (c *call) newLater() func(context.Context, string, json.RawMessage) (*tools.Response, error) {
	if c.Ticket == nil {
		return nil
	}
	p, s, log, lane := c.p, c.Session, c.p.Config.Log, c.Ticket.Lane().Sibling()
	return func(ctx context.Context, tool string, args json.RawMessage) (*tools.Response, error) {
		ticket, err := lane.Arrive()
		if err != nil {
			return nil, err
		}
		return p.Run(ctx, Request{Tool: tool, Arguments: args, Session: s, Ticket: ticket, Log: log, Unattended: true})
	}
}
