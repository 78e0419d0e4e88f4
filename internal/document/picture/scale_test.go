package picture

import "mcp-toolset/internal/testscale"

// The counts of the tests that have many cases.
var (
	// cuts and flips are how many places each small file is cut at and how many
	// times bytes of it are changed.
	cuts, flips = testscale.N(60, 4000), testscale.N(60, 3000)
)
