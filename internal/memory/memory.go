// Package memory limits the memory of the process: it sets a soft limit for the
// garbage collector, and returns memory to the system after large calls.
package memory

import (
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// defaultLimit is the soft limit in bytes, unless a control group has a
	// lower one. The indexes of searches and the listings of large trees use at
	// most half of it.
	defaultLimit = 512 << 20
	// share is the soft limit as a percentage of a control group's limit. The
	// rest is for memory that the runtime does not count, and for child
	// processes.
	share = 60
	// large is the size of input and output, in bytes, from which a call counts
	// as large.
	large = 4 << 20
	// idleTime is the time without the end of a large call after which memory is
	// returned.
	idleTime = 2 * time.Second
)

// Limit sets the soft limit of the process, unless GOMEMLIMIT is set.
func Limit() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	limit := int64(defaultLimit)
	if group := groupLimit(os.ReadFile); group < math.MaxInt64 {
		limit = min(limit, group/100*share)
	}
	debug.SetMemoryLimit(limit)
}

// groupLimit returns the lowest memory limit of the control groups of the
// process, in bytes, or math.MaxInt64 if there is none.
func groupLimit(read func(string) ([]byte, error)) int64 {
	least := int64(math.MaxInt64)
	groups, err := read("/proc/self/cgroup")
	if err != nil {
		return least
	}
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // see cgroups(7)
		if len(fields) != 3 {
			continue
		}
		for _, at := range mounts(fields[1]) {
			// In a container, the path is relative to the host's root, and the
			// mount is the group's own folder.
			for dir := path.Clean("/" + fields[2]); ; dir = path.Dir(dir) {
				text, err := read(path.Join(at.folder, dir, at.file))
				if n, failed := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && failed == nil && n > 0 {
					least = min(least, n)
				}
				if dir == "/" {
					break
				}
			}
		}
	}
	return least
}

type mount struct{ folder, file string }

// mounts returns the folders and files that can hold the memory limits of a
// hierarchy. Version 2 has an empty controller list in /proc/self/cgroup.
func mounts(controllers string) []mount {
	switch {
	case controllers == "":
		return []mount{{"/sys/fs/cgroup", "memory.max"}, {"/sys/fs/cgroup/unified", "memory.max"}}
	case strings.Contains(","+controllers+",", ",memory,"):
		return []mount{{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}}
	}
	return nil
}

var (
	mu    sync.Mutex
	timer *time.Timer
)

// Used records the end of a call, with the bytes of its input and output. After
// a large call, memory is returned to the system as soon as no large call has
// ended for a while.
func Used(bytes int) {
	if bytes < large {
		return
	}
	mu.Lock()
	defer mu.Unlock()
	if timer == nil {
		timer = time.AfterFunc(idleTime, debug.FreeOSMemory)
		return
	}
	timer.Reset(idleTime)
}
