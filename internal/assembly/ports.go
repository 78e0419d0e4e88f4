package assembly

import (
	"context"
	"encoding/json"
	"fmt"

	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/policy"
	"mcp-toolset/session"
)

// published writes to the audit log that a port of a session was published without a call.
func (p *Plan) published(owner session.Owner, t *task.Task, port, host uint16) {
	if p.Audit == nil {
		return
	}
	e := audit.Entry{
		Session: owner.Session, Principal: owner.Principal, Tool: "PublishPort", Input: json.RawMessage(fmt.Sprintf(`{"port":%d}`, port)), Outcome: audit.OK,
		Decision: audit.Decision{
			Behavior: policy.Allow.String(), Layer: policy.LayerTool,
			Reason: fmt.Sprintf("the settings name the port, or the user agreed before; task %s listens, on port %d of this machine", t.ID, host),
		},
	}
	if err := p.Audit.Write(context.Background(), e); err != nil {
		p.Log.Warn("a published port could not be written to the audit log", "error", err.Error())
	}
}
