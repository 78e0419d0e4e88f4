//go:build !slow

package pdf

const (
	// cuts and flips are how many damaged copies TestDamaged reads.
	cuts, flips = 8, 8
	// bombBytes is the size of decompression bombs.
	bombBytes = 3_000_000
)
