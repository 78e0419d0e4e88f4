package concurrency

import "mcp-toolset/internal/testscale"

// Numbers of cases in property tests.
var (
	// seeds is the number of random schedules in each property test.
	seeds = testscale.N(1000, 10000)
)
