package command

import "mcp-toolset/internal/testscale"

// Counts of the tests that have many cases.
var (
	churnCalls     = testscale.N(10, 300)
	commandsInARow = testscale.N(20, 1000)
)
