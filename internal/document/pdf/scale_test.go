package pdf

import "mcp-toolset/internal/testscale"

// The counts of the tests that have many cases.
var (
	// cuts and flips are how many damaged copies TestDamaged reads.
	cuts, flips = testscale.N(4, 40), testscale.N(4, 60)
	// bombBytes is the size of decompression bombs.
	bombBytes = testscale.N(3_000_000, 50_000_000)
)
