//go:build !slow

package source

const (
	randomTexts  = 3000
	randomRanges = 2000
	hugeBytes    = 100 << 20
)
