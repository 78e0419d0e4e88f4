package filetype

import "mcp-toolset/internal/testscale"

// The counts of the tests that have many cases.
var (
	stride = testscale.N(7, 1) // of the file names that are given to rg
)
