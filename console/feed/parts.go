package feed

import (
	"context"
	"encoding/json"

	"mcp-toolset/pipeline"
)

// Parts holds what answers use. Each may be nil: its answers are then empty.
type Parts struct {
	// Explain explains a call in a folder.
	Explain func(ctx context.Context, dir, tool string, input json.RawMessage) pipeline.Explanation
}

func (l *Local) tasks() []Task   { return []Task{} }
func (l *Local) list() []Session { return []Session{} }
