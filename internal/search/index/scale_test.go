package index

import "mcp-toolset/internal/testscale"

// The counts of the tests that have many cases.
var (
	// cases is how many the random test has, steps those of the store.
	cases, steps = testscale.N(1000, 20000), testscale.N(8000, 80000)
)
