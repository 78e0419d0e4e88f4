package picture

import "mcp-toolset/internal/testscale"

// Counts of tests with many cases.
var (
	// cuts is the number of places at which each small file is cut, flips the number of
	// times that some of its bytes are changed.
	cuts, flips = testscale.N(60, 4000), testscale.N(60, 3000)
)
