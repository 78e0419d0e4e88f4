//go:build !slow

package search

const (
	rgCases = 60 // of the comparison with ripgrep
	rounds  = 20 // of changes
	pageSet = 4  // trees
	hugeLog = 27 // two's logarithm of the size of the sparse file
	many    = 2_000
	deepest = 1_500
)
