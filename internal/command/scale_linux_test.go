package command

import "mcp-toolset/internal/testscale"

// The counts of the tests that have many cases.
var (
	churnCalls     = testscale.N(40, 300)
	commandsInARow = testscale.N(100, 1000)
)
