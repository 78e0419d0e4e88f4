package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// watchEvery is the interval between checks of the memory while documents are read.
const watchEvery = 50 * time.Millisecond

// descriptors returns the number of files that the server has open.
func (s *corpusServer) descriptors() int {
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	return len(open)
}

// peakMB returns the peak memory of the server in MB.
func (s *corpusServer) peakMB() float64 {
	mb, err := procMB(s.cmd.Process.Pid, "status", "VmHWM:")
	if err != nil {
		s.t.Fatal(err)
	}
	return mb
}

// procMB returns a memory field of a process in MB.
func procMB(pid int, file, field string) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), field)
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kib, err := strconv.ParseFloat(number, 64)
	return kib * 1024 / 1e6, err
}

// processes returns the ids of the server and of the processes that read documents for
// it, including orphans.
func (s *corpusServer) processes() (pids []int) {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		s.t.Error(err)
	}
	for _, dir := range all {
		if exe, err := os.Readlink(filepath.Join(dir, "exe")); err != nil || exe != built {
			continue
		}
		args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if pid, _ := strconv.Atoi(filepath.Base(dir)); err == nil && (strings.Contains(string(args), "\x00read-document\x00") || pid == s.cmd.Process.Pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// documents returns the number of documents being read.
func (s *corpusServer) documents() (n int) {
	for _, pid := range s.processes() {
		if pid != s.cmd.Process.Pid {
			n++
		}
	}
	return n
}

// watchMemory samples the memory of the server and all its children together, counting
// each page once. It misses peaks between samples; the processes' own peaks are in the
// log.
func (s *corpusServer) watchMemory() (stop func()) {
	done, most := make(chan struct{}), make(chan float64)
	go func() {
		peak := 0.0
		for tick := time.Tick(watchEvery); ; {
			sum := 0.0
			for _, pid := range s.processes() {
				mb, err := procMB(pid, "smaps_rollup", "\nPss:")
				if err == nil { // on an error the process has ended meanwhile
					sum += mb
				}
			}
			peak = max(peak, sum)
			select {
			case <-tick:
			case <-done:
				most <- peak
				return
			}
		}
	}()
	return func() {
		close(done)
		peak := <-most
		s.t.Logf("at one time the server and its processes held %.0f MB", peak)
		if peak >= mostAllMB || peak == 0 {
			s.t.Errorf("at one time the server and its processes held %.0f MB", peak)
		}
	}
}
