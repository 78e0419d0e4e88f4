package dfa

import "mcp-toolset/internal/testscale"

// The counts of the tests that have many cases.
var (
	randomCases = testscale.N(1000, 30000)
)
