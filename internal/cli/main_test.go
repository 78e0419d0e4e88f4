package cli

import (
	"os"
	"testing"

	"mcp-toolset/internal/command"
	"mcp-toolset/internal/process"
)

// TestMain makes the test binary the processes that a server starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case process.Arg, command.TryArg:
			os.Exit(Main(os.Args[1:], OS()))
		}
	}
	os.Exit(m.Run())
}
