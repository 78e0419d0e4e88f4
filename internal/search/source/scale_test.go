package source

import "mcp-toolset/internal/testscale"

// The numbers of cases.
var (
	randomTexts  = testscale.N(3000, 60_000)
	randomRanges = testscale.N(2000, 20_000)
	hugeBytes    = testscale.N(100<<20, 5<<30)
)
