package command

import "mcp-toolset/internal/testscale"

// Counts of the tests that have many cases.
var (
	churnCalls     = testscale.N(40, 300)
	commandsInARow = testscale.N(100, 1000)
)
