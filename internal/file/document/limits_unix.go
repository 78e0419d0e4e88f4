//go:build linux || darwin

package document

import (
	"math"
	"syscall"
	"time"
)

// setLimits sets the limits that Linux and macOS share.
func setLimits(q request) {
	// Processor time counts every thread, so that the deadline comes first unless the
	// process can no longer enforce it.
	cpu := uint64(math.Ceil((maxProcs*q.Deadline + grace).Round(time.Second).Seconds()))
	for _, l := range []struct {
		resource int
		value    uint64
	}{
		{syscall.RLIMIT_CPU, cpu},
		{syscall.RLIMIT_CORE, 0}, // a core dump would be a copy of the file
		{syscall.RLIMIT_FSIZE, maxFileSize},
		{syscall.RLIMIT_NOFILE, maxFiles},
	} {
		_ = syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: l.value, Max: l.value})
	}
}
