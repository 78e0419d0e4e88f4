package e2e

import "mcp-toolset/internal/testscale"

// Counts of tests with many cases.
var (
	// manyTasks is the number of tasks that TestStopMany stops.
	manyTasks = testscale.N(6, 50)
	// muchOutput is the least output of the commands of TestMuchOutput, in bytes.
	muchOutput = testscale.N(30_000_000, 300_000_000)
	// sharedCalls is the number of calls of each client of TestReadsAreExplained.
	sharedCalls = testscale.N(20, 500)
)
