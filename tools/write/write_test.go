package write

import (
	"testing"

	"mcp-toolset/tools"
	"mcp-toolset/tools/file"
	"mcp-toolset/tools/toolstest"
)

func TestCases(t *testing.T) {
	toolstest.RunIn(t, func(w *toolstest.Workspace) *tools.Tool {
		return New(file.Options{Locks: w.Locks, Snapshots: w.Snapshots})
	}, "testdata")
}
