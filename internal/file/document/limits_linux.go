package document

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// limitSystem sets limits that the kernel enforces even when Go's runtime cannot: while
// the code of the PDF engine runs, which cannot be interrupted, a garbage collection that
// waits for it stops everything else.
func limitSystem(q request) {
	setLimits(q)
	if !raceDetector {
		// RLIMIT_DATA counts mapped memory, of which Go and the PDF engine touch between
		// half and two thirds. Memory is mapped in one step, much faster than the check.
		data := uint64(q.Memory)*2 + 256<<20
		_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: data, Max: data})
	}
	// When the system runs out of memory, it kills this process, not the server.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	// Without this, a process run as /proc/self/exe would be listed as "exe".
	_ = os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0)
}

// heldMemory returns a function that measures the resident memory of the process in
// bytes, including the program itself and memory that readers map.
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
