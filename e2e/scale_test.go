package e2e

import "mcp-toolset/internal/testscale"

// The counts of the tests that have many cases.
var (
	// manyTasks is how many tasks TestStopMany stops.
	manyTasks = testscale.N(10, 50)
	// muchOutput is how much the commands of TestMuchOutput print at least, in bytes.
	muchOutput = testscale.N(30_000_000, 300_000_000)
	// sharedCalls is how many calls each client of TestReadsAreExplained makes.
	sharedCalls = testscale.N(40, 500)
)
