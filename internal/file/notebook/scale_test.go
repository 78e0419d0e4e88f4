package notebook

import "mcp-toolset/internal/testscale"

// The counts of the tests that have many cases.
var (
	// largeSize is the size of the notebooks of TestMemory, in bytes.
	largeSize = testscale.N(2<<20, 16<<20)
	// editCount is the number of random edits of TestEditProperty.
	editCount = testscale.N(1500, 50_000)
)
