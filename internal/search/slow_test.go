//go:build slow

package search

const (
	rgCases     = 2000  // of the comparison with ripgrep
	filterCases = 5_000 // of the random test of required literals
	rounds      = 300   // of changes
	pageSet     = 60    // trees
	many        = 100_000
	manyFolders = 1000 // of a thousand files each
	deepest     = 10_000
	hugeLog     = 32 // two's logarithm of the size of the sparse file
)
