package shellsafe

import "mcp-toolset/internal/testscale"

// The counts of the tests that have many cases.
var (
	randomTexts = testscale.N(400, 4_000)  // given to bash and the parser
	randomPairs = testscale.N(300, 20_000) // of the metamorphic tests
	gitStride   = testscale.N(25, 1)       // one of so many git lines of the corpus runs in hostile repositories
)
