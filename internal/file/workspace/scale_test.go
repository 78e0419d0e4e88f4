package workspace

import "mcp-toolset/internal/testscale"

// Counts of the tests that have many cases.
var (
	kills        = testscale.N(25, 200)   // of the crash test
	raceUpdates  = testscale.N(100, 2000) // for each file in the swap race
	replacements = testscale.N(200, 1000) // seen by readers
)
