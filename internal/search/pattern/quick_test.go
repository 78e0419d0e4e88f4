//go:build !slow

package pattern

const (
	randomPatterns = 100 // compared with ripgrep
	randomLiterals = 500 // patterns looked at for Required
)
