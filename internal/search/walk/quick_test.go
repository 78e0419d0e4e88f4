//go:build !slow

package walk

const (
	randomTrees = 20
	changeTrees = 3  // that are changed again and again
	changes     = 20 // rounds for each
	swaps       = 300
	deep        = 5000
	huge        = 20_000
	inMemory    = true
	vouchTrees  = 3 // in memory and on disk
	vouchRounds = 20
	vouchWrites = 15 // of each writer beside readers
	vouchStress = 1
)
