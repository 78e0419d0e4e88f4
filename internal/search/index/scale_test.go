package index

import "mcp-toolset/internal/testscale"

// The numbers of cases.
var (
	// cases is for the random test, steps for the store.
	cases, steps = testscale.N(1000, 20000), testscale.N(8000, 80000)
)
