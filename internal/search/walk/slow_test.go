//go:build slow

package walk

const (
	randomTrees = 300
	changeTrees = 20  // that are changed again and again
	changes     = 200 // rounds for each
	swaps       = 10000
	deep        = 10000
	huge        = 300_000
	inMemory    = false
	vouchTrees  = 5 // in memory and on disk
	vouchRounds = 300
	vouchWrites = 60 // of each writer beside readers
	vouchStress = 10
)
