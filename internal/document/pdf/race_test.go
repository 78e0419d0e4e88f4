//go:build race

package pdf

import "time"

// The race detector makes drawing ten times slower, so not all real files are
// read under it.
const (
	every   = 20
	slowest = 100 * time.Second
)
