//go:build !race

package pdf

import "time"

const (
	every   = 1                // one in how many of the real files is read
	slowest = 10 * time.Second // limit for five pages of one file
)
