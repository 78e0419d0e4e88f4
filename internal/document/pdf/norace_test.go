//go:build !race

package pdf

import "time"

const (
	every   = 1                // which of the real files are read
	slowest = 10 * time.Second // for five pages of one
)
