package concurrency

import "mcp-toolset/internal/testscale"

// The counts of the tests that have many cases.
var (
	// seeds is how many random schedules each property test plays.
	seeds = testscale.N(1000, 10000)
)
