package process

import "mcp-toolset/internal/testscale"

// The counts of the tests that have many cases.
var (
	fullCounts  = testscale.Full()
	manyTrees   = testscale.N(2, 50)
	manyCalls   = testscale.N(15, 300)
	serverTrees = testscale.N(2, 10)
)
