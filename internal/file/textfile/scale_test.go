package textfile

import "mcp-toolset/internal/testscale"

// The counts of the tests that have many cases.
var (
	// Enough to catch usual mistakes; TEST_SCALE=full runs the full number.
	randomEdits = testscale.N(2000, 10_000)
)
