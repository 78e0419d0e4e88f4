//go:build slow

package source

const (
	randomTexts  = 60_000
	randomRanges = 20_000
	hugeBytes    = 5 << 30
)
