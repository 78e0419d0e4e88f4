package ignore

import "mcp-toolset/internal/testscale"

// The numbers of cases.
var (
	randomLists = testscale.N(60, 3000) // compared with git
	randomTrees = testscale.N(8, 300)   // each for git and for ripgrep
	globStep    = testscale.N(9, 1)     // one of so many pairs of globs is compared with ripgrep
)
