package server

import "mcp-toolset/internal/testscale"

// The counts of the tests that have many cases.
var (
	// burstRuns is how often TestBurstHalfCancelled runs its burst of each kind.
	burstRuns = testscale.N(10, 100)
	// endRuns is how often tests of an end with calls in flight run.
	endRuns = testscale.N(5, 50)
	// largeBody is the size of the bodies of TestManyLargeBodies.
	largeBody = testscale.N(1<<20, maxBody)
)
