// Package memory keeps the memory of the process small: a soft limit below which
// garbage is collected in time, and memory given back when much was used.
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
	// defaultLimit is the soft limit unless a control group has a lower one. The indexes of
	// searches and the listings of large trees take a half of it at most.
	defaultLimit = 512 << 20
	// share is how much of a control group's limit, in percent, is the soft limit.
	// The rest is for what the runtime does not count, and for processes started.
	share = 60
	// large is how many bytes of input or output make a call one after which
	// memory is given back.
	large = 4 << 20
	// quiet is how long no such call must have ended before that is done.
	quiet = 2 * time.Second
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

// groupLimit returns the lowest memory limit, in bytes, of the control groups that
// the process is in; math.MaxInt64 if there is none.
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
			// In a container the path is that of the host, and the mount is the group's own.
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

// mounts returns where the limits of a hierarchy are. Version 2 has no controllers in
// /proc/self/cgroup.
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

// Used notes the end of a call with that many bytes of input and output. After a
// large call, memory is returned to the system as soon as no large call has ended
// for a while.
func Used(bytes int) {
	if bytes < large {
		return
	}
	mu.Lock()
	defer mu.Unlock()
	if timer == nil {
		timer = time.AfterFunc(quiet, debug.FreeOSMemory)
		return
	}
	timer.Reset(quiet)
}
