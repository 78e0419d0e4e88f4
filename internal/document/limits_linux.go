package document

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// limitSystem sets what the kernel watches over, for when Go's runtime cannot:
// while code of the PDF engine runs that cannot be interrupted, a collection
// of garbage that waits for it stops everything else.
func limitSystem(q request) {
	setLimits(q)
	if !raceDetector {
		// Data is what is mapped, of which Go and the PDF engine touch a half
		// to two thirds; what is mapped at once is a lot faster than the watch.
		data := uint64(q.Memory)*2 + 256<<20
		_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: data, Max: data})
	}
	// When the system runs out of memory this process goes, not the server.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	// Run as /proc/self/exe the process would be listed as "exe".
	_ = os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0)
}

// heldMemory returns how to measure the resident memory of the process, which
// includes the program itself and what readers map.
func heldMemory() func() uint64 {
	f, err := os.Open("/proc/self/statm")
	if err != nil || raceDetector {
		return goMemory
	}
	page := uint64(os.Getpagesize())
	var buf [128]byte
	return func() uint64 {
		n, _ := f.ReadAt(buf[:], 0) // always io.EOF
		fields := bytes.Fields(buf[:n])
		if len(fields) < 2 {
			return goMemory()
		}
		resident, err := strconv.ParseUint(string(fields[1]), 10, 64)
		if err != nil {
			return goMemory()
		}
		return resident * page
	}
}
