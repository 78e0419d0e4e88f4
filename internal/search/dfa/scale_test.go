package dfa

import "mcp-toolset/internal/testscale"

// The numbers of cases.
var (
	randomCases = testscale.N(1000, 30000)
)
