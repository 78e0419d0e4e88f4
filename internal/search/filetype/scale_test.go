package filetype

import "mcp-toolset/internal/testscale"

// The numbers of cases.
var (
	stride = testscale.N(7, 1) // of the file names that are passed to rg
)
