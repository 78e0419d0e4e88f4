//go:build slow

package walk

const (
	randomTrees = 150
	changeTrees = 8   // that are changed again and again
	changes     = 100 // rounds for each
	swaps       = 5000
	deep        = 10000
	huge        = 100_000
	inMemory    = false
	vouchTrees  = 3 // in memory and on disk
	vouchRounds = 150
	vouchWrites = 40 // of each writer beside readers
	vouchStress = 4
)
