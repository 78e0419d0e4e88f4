//go:build slow

package pattern

const (
	randomPatterns = 2000  // compared with ripgrep
	randomLiterals = 20000 // patterns looked at for Required
)
