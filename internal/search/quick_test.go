//go:build !slow

package search

const (
	rgCases     = 60  // of the comparison with ripgrep
	filterCases = 500 // of the random test of required literals
	rounds      = 20  // of changes
	pageSet     = 4   // trees
	many        = 2_000
	manyFolders = 10 // of a thousand files each
	deepest     = 1_500
	hugeLog     = 27 // two's logarithm of the size of the sparse file
)
