package bash

import (
	"testing"

	"mcp-toolset/tools"
)

// TestSummary checks the one line about each end of a command.
func TestSummary(t *testing.T) {
	code := 1
	for _, c := range []struct {
		out  Output
		meta map[string]any
		want string
	}{
		{Output{Status: "exited", ExitCode: &code}, map[string]any{metaDuration: int64(2345)}, "exit code 1 after 2.3 s"},
		{Output{Status: "signalled", Signal: "SIGKILL"}, map[string]any{metaDuration: int64(10)}, "signalled by SIGKILL after 0.0 s"},
		{Output{Status: "timed out"}, map[string]any{metaDuration: int64(125_000)}, "timed out after 2 min 5 s"},
		{Output{Status: "lost"}, nil, "lost"},
		{Output{Status: "running", TaskID: "abc"}, map[string]any{metaDuration: int64(7000)}, "Running: task abc"},
	} {
		if got := summary(tools.Result[Output]{Data: c.out, Meta: c.meta}); got != c.want {
			t.Errorf("%+v: %q, want %q", c.out, got, c.want)
		}
	}
}
