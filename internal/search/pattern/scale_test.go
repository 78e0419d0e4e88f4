package pattern

import "mcp-toolset/internal/testscale"

// The counts of the tests that have many cases.
var (
	randomPatterns = testscale.N(100, 2000)  // compared with ripgrep
	randomLiterals = testscale.N(500, 20000) // patterns looked at for Required
)
