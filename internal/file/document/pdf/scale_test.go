package pdf

import "mcp-toolset/internal/testscale"

// Counts of tests with many cases.
var (
	// cuts and flips are the numbers of damaged copies that TestDamaged reads.
	cuts, flips = testscale.N(4, 40), testscale.N(4, 60)
	// bombBytes is the size of decompression bombs.
	bombBytes = testscale.N(3_000_000, 50_000_000)
)
