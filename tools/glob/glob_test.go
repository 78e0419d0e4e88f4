package glob

import (
	"testing"

	"mcp-toolset/tools/toolstest"
)

func TestCases(t *testing.T) { toolstest.Run(t, New(Options{}), "testdata") }
