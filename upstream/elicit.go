package upstream

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/mark3labs/mcp-go/mcp"

	"mcp-toolset/tools"
)

// Elicit answers a question of the server to the user; the library calls it. It
// passes the question to the client whose call caused it. If that call is not
// known, it declines.
func (c *conn) Elicit(ctx context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	asked := callOf(ctx)
	if asked == nil {
		if asked = c.sole(); asked == nil {
			return answerForm(tools.FormReply{Action: "decline"}), nil
		}
		ctx = asked.ctx
	}
	if r.Params.Mode != "" && r.Params.Mode != mcp.ElicitationModeForm || asked.env.Elicit == nil {
		return answerForm(tools.FormReply{Action: "decline"}), nil
	}
	schema, err := schemaOf(asked.answer().raw, r.Params)
	if err != nil {
		return nil, err
	}
	asked.asking.Add(1)
	reply, err := asked.env.Elicit(ctx, tools.Form{Server: c.s.Name, Message: r.Params.Message, Schema: schema})
	asked.touch()
	asked.asking.Add(-1)
	if err != nil {
		if asked.ctx.Err() == nil {
			asked.finish(err)
		}
		return nil, err
	}
	return answerForm(reply), nil
}

// schemaOf returns the schema of a question. If the question is part of a
// result, it returns the schema as it was sent, which preserves the order of
// the properties.
func schemaOf(result json.RawMessage, p mcp.ElicitationParams) (json.RawMessage, error) {
	plain, err := json.Marshal(p.RequestedSchema)
	if err != nil {
		return nil, err
	}
	var r struct {
		Requests map[string]struct {
			Params struct {
				Message string
				Schema  json.RawMessage `json:"requestedSchema"`
			}
		} `json:"inputRequests"`
	}
	if json.Unmarshal(result, &r) != nil {
		return plain, nil
	}
	for _, q := range r.Requests {
		var same any
		if q.Params.Message == p.Message && json.Unmarshal(q.Params.Schema, &same) == nil && reflect.DeepEqual(same, p.RequestedSchema) {
			return q.Params.Schema, nil
		}
	}
	return plain, nil
}

// sole returns the call to which a question without a call belongs: the latest
// call, if all running calls belong to one session. Otherwise it returns nil.
func (c *conn) sole() *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) == 0 {
		return nil
	}
	last := c.calls[len(c.calls)-1]
	for _, other := range c.calls {
		a, b := other.env.Session, last.env.Session
		if other != last && (a.ID != b.ID || a.Principal != b.Principal || a.Forgets() || b.Forgets() || other.env.Elicit == nil) {
			return nil
		}
	}
	return last
}

// answerForm converts a reply to the form that is sent to the server.
func answerForm(reply tools.FormReply) *mcp.ElicitationResult {
	out := &mcp.ElicitationResult{}
	out.Action = mcp.ElicitationResponseAction(reply.Action)
	if reply.Action == "accept" && len(reply.Content) > 0 {
		out.Content = reply.Content
	}
	return out
}
