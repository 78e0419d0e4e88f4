package search

import "mcp-toolset/internal/testscale"

// The numbers of cases.
var (
	rgCases     = testscale.N(60, 2000)   // of the comparison with ripgrep
	filterCases = testscale.N(500, 5_000) // of the random test of required literals
	rounds      = testscale.N(20, 300)    // of changes
	pageSet     = testscale.N(4, 60)      // trees
	many        = testscale.N(2_000, 100_000)
	manyFolders = testscale.N(10, 1000) // of a thousand files each
	deepest     = testscale.N(1_500, 10_000)
	hugeLog     = testscale.N(27, 32) // binary logarithm of the size of the sparse file
)
