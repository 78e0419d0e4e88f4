package spool

import "mcp-toolset/internal/testscale"

// The counts of the tests that have many cases.
var (
	manySeeds = testscale.N(8, 200)
)
