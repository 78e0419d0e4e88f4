package terminal

import "mcp-toolset/internal/testscale"

// randomTexts is the number of random lines of TestAppendLineRandom.
var randomTexts = testscale.N(800, 20_000)
