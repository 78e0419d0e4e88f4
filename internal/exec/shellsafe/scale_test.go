package shellsafe

import "mcp-toolset/internal/testscale"

// The counts of the tests that have many cases.
var (
	randomTexts = testscale.N(50, 4_000)   // given to bash and the parser
	randomPairs = testscale.N(300, 20_000) // of the metamorphic tests
	runStride   = testscale.N(12, 1)       // one of this many texts of the corpus runs with probes
)
