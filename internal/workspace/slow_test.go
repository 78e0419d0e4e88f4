//go:build slow

package workspace

const (
	kills        = 200  // of the crash test
	raceUpdates  = 2000 // of each file in the swap race
	replacements = 1000 // that readers look at
)
