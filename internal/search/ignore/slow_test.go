//go:build slow

package ignore

const (
	randomLists = 3000 // judged by git
	randomTrees = 300  // each for git and for ripgrep
	globStep    = 1    // one of so many pairs of globs is judged by ripgrep
)
