//go:build unix && !linux

package workspace

import "os"

// keepAttributes keeps none: each system has its own kinds and calls.
func keepAttributes(_, _ *os.File) (sameList bool) { return true }
