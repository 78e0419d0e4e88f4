package ignore

import "mcp-toolset/internal/testscale"

// The numbers of cases.
var (
	randomLists   = testscale.N(60, 3000) // compared with git
	randomTrees   = testscale.N(8, 300)   // each for git and for ripgrep
	byteStep      = testscale.N(5, 1)     // one of so many patterns with a certain byte is compared with git
	globStep      = testscale.N(9, 1)     // one of so many globs, or pairs of globs, is compared with ripgrep
	templateStep  = testscale.N(7, 1)     // one of so many lines of the templates is tried
	templatePaths = testscale.N(4, 40)    // for each of these lines
)
