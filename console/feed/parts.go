package feed

import (
	"context"
	"encoding/json"

	"mcp-toolset/internal/consent/approval"
	"mcp-toolset/internal/event"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/internal/record/audit"
	"mcp-toolset/internal/record/journal"
	"mcp-toolset/internal/record/undo"
	"mcp-toolset/internal/record/worklist"
	"mcp-toolset/pipeline"
	"mcp-toolset/session"
)

// Parts holds the parts of a server that answers use. Each may be nil or empty: its answers are then empty.
type Parts struct {
	// Explain explains a call in a folder; "" means the first root.
	Explain func(ctx context.Context, dir, tool string, input json.RawMessage) pipeline.Explanation
	// Describe returns an explanation as `policy explain` prints it.
	Describe func(pipeline.Explanation) string
	Tasks    *task.Registry
	Journal  *journal.Journal
	Events   *event.Registry
	// Work returns the work list of a session.
	Work func(context.Context, session.View) ([]worklist.Item, error)
	Undo *undo.Store
	// Rules returns the rules that hold, in order of effect.
	Rules func() []Rule
	// Settings describes the settings that hold.
	Settings func() Settings
	// AddTo is the settings file to which the user can add rules; "" if it is not known.
	AddTo  string
	Always func() ([]approval.Entry, error)
	// Audit finds entries of the audit log; nil: there is none.
	Audit     func(audit.Query) (audit.Found, error)
	AuditFile string
	Instance  string // begins the ids of sessions in the audit log
}

// Rule is a rule of the settings.
type Rule struct {
	Effect string `json:"effect"` // "deny", "ask" or "allow"
	Rule   string `json:"rule"`
	Origin string `json:"origin"` // FILE:LINE
	Layer  string `json:"layer"`
}
