package document

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Limits of a process, beside the memory and time it is given.
const (
	// watchEvery is how often memory is looked at, which takes some
	// microseconds. What is touched in between goes over the limit: 3 MB at
	// the 0.6 GB/s measured, 25 MB at the fastest that kernels give memory out.
	watchEvery = 5 * time.Millisecond
	// maxStack is the stack of one goroutine in bytes. Recursion of readers
	// by the nesting of a file ends here instead of at Go's 1 GB.
	maxStack = 64 << 20
	// maxProcs is how many threads run Go code: one that reads, one that
	// collects garbage and watches.
	maxProcs = 2
	// maxFiles has room for what Go itself opens and one file of the cache.
	maxFiles = 32
	// maxFileSize is that of a file in the cache in bytes. The PDF engine
	// compiles into about 20 MB.
	maxFileSize = 64 << 20
)

// confine sets the limits of the process and starts what watches over them.
// Limits that a system does not have, or refuses, are left to those it has.
func confine(q request) {
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(q.Memory / 4 * 3) // beyond it garbage is collected early
	runtime.GOMAXPROCS(maxProcs)
	limitSystem(q)
	time.AfterFunc(q.Deadline, func() { quit(exitTime, "over its deadline") })
	go watchMemory(uint64(q.Memory))
	go watchParent(q.Parent, func() { quit(exitOrphan, "the server is gone") })
}

// quit ends the process from any goroutine.
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

// goMemory is what Go's runtime holds, in bytes. It misses little: the program
// itself and what readers map without Go.
func goMemory() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}
