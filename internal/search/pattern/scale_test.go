package pattern

import "mcp-toolset/internal/testscale"

// The numbers of cases.
var (
	randomPatterns = testscale.N(100, 2000)  // compared with ripgrep
	randomLiterals = testscale.N(500, 20000) // patterns checked for Required
)
