package cron

import (
	"log/slog"
	"path/filepath"
	"regexp"
	"testing"

	"mcp-toolset/internal/event"
	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/schedule"
	"mcp-toolset/tools"
	"mcp-toolset/tools/toolstest"
)

// moment matches times in answers, which depend on when the test runs.
var moment = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d [+-]\d{4}`)

func TestCases(t *testing.T) {
	toolstest.RunSeveral(t, func(*toolstest.Workspace) []*tools.Tool {
		state := t.TempDir()
		r := schedule.New(state, filelock.New(filepath.Join(state, "locks")), event.New(), slog.New(slog.DiscardHandler))
		t.Cleanup(func() { _ = r.Close() })
		return New(Options{Schedules: r})
	}, "testdata", func(s string) string { return moment.ReplaceAllString(s, "TIME") })
}
