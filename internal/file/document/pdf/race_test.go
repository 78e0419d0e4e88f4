//go:build race

package pdf

import "time"

// The race detector makes drawing ten times slower, so it reads only some of the real
// files.
const (
	every   = 20
	slowest = 100 * time.Second
)
