package workspace

import "mcp-toolset/internal/testscale"

// The counts of the tests that have many cases.
var (
	kills        = testscale.N(25, 200)   // of the crash test
	raceUpdates  = testscale.N(100, 2000) // of each file in the swap race
	replacements = testscale.N(200, 1000) // that readers look at
)
