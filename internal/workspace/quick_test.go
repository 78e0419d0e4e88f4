//go:build !slow

package workspace

const (
	kills        = 25  // of the crash test
	raceUpdates  = 100 // of each file in the swap race
	replacements = 200 // that readers look at
)
