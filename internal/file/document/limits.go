package document

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Limits of a process, in addition to its memory and time.
const (
	// watchEvery is the interval between checks of the memory, each of which takes some
	// microseconds. Memory touched in between exceeds the limit: by 3 MB at the measured
	// 0.6 GB/s, by 25 MB at the fastest rate at which kernels hand out memory.
	watchEvery = 5 * time.Millisecond
	// maxStack is the limit of one goroutine's stack, in bytes. Readers that recurse by
	// the nesting of a file end here instead of at Go's 1 GB.
	maxStack = 64 << 20
	// maxProcs is the number of threads that run Go code: one reads, the other collects
	// garbage and checks the limits.
	maxProcs = 2
	// maxFiles is the limit of open files: those of Go itself and one of the cache.
	maxFiles = 32
	// maxFileSize is the limit of a file in the cache, in bytes. The compiled PDF engine
	// takes about 20 MB.
	maxFileSize = 64 << 20
)

// confine sets the limits of the process and starts the goroutines that check them. A
// limit that the system lacks or refuses is skipped; the others remain.
func confine(q request) {
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(q.Memory / 4 * 3) // above this, garbage is collected sooner
	runtime.GOMAXPROCS(maxProcs)
	limitSystem(q)
	time.AfterFunc(q.Deadline, func() { quit(exitTime, "over its deadline") })
	go watchMemory(uint64(q.Memory))
	go watchParent(q.Parent, func() { quit(exitOrphan, "the server is gone") })
}

// quit ends the process; any goroutine may call it.
func quit(code int, why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(code)
}

func watchMemory(limit uint64) {
	held := heldMemory()
	for range time.Tick(watchEvery) {
		if held() > limit {
			quit(exitMemory, "over its limit of memory")
		}
	}
}

// goMemory returns the memory that Go's runtime holds, in bytes. It leaves out only the
// program itself and memory that readers map without Go.
func goMemory() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}
