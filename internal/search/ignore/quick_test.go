//go:build !slow

package ignore

const (
	randomLists = 100 // judged by git
	randomTrees = 20  // each for git and for ripgrep
	globStep    = 9   // one of so many pairs of globs is judged by ripgrep
)
