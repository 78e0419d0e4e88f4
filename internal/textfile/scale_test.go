package textfile

import "mcp-toolset/internal/testscale"

// The counts of the tests that have many cases.
var (
	// Enough to catch what tends to break; TEST_SCALE=full has the full count.
	randomEdits = testscale.N(2000, 10_000)
)
