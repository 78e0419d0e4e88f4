//go:build slow

package search

const (
	rgCases = 2000 // of the comparison with ripgrep
	rounds  = 300  // of changes
	pageSet = 300  // trees
	many    = 100_000
	deepest = 5_000
	hugeLog = 32 // two's logarithm of the size of the sparse file
)
