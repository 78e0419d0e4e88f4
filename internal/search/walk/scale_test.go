package walk

import "mcp-toolset/internal/testscale"

// The numbers of cases.
var (
	randomTrees = testscale.N(20, 150)
	changeTrees = testscale.N(3, 8)    // that are changed repeatedly
	changes     = testscale.N(20, 100) // rounds for each
	swaps       = testscale.N(300, 5000)
	deep        = testscale.N(2500, 10000)
	huge        = testscale.N(20_000, 100_000)
	inMemory    = !testscale.Full()
	vouchTrees  = testscale.N(2, 3) // in memory and on disk
	vouchRounds = testscale.N(20, 150)
	vouchWrites = testscale.N(15, 40) // of each writer beside readers
	vouchStress = testscale.N(1, 4)
)
