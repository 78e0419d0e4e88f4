package server

import "mcp-toolset/internal/testscale"

// Counts of tests with many cases.
var (
	// burstRuns is the number of bursts of each kind in TestBurstHalfCancelled.
	burstRuns = testscale.N(10, 100)
	// endRuns is the number of runs of tests that end with calls in progress.
	endRuns = testscale.N(5, 50)
	// largeBody is the size of the bodies of TestManyLargeBodies.
	largeBody = testscale.N(1<<20, maxBody)
)
