package publish

import (
	"testing"
	"time"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/exec/publish"
	"mcp-toolset/internal/exec/task"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

func TestCases(t *testing.T) {
	toolstest.RunSeveral(t, func(*toolstest.Workspace) []*tools.Tool {
		ports := publish.New(publish.Options{Named: func(uint16) bool { return false }, Asks: func() bool { return true }, Events: event.New()})
		return []*tools.Tool{New(Options{Ports: ports, Tasks: task.New(time.Now)})}
	}, "testdata", func(text string) string { return text })
}
