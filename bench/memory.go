// Resident memory of a process.

package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// hasResident tells whether this system shows resident memory in /proc.
const hasResident = runtime.GOOS == "linux"

// resident is the resident memory of a process in MB; 0 where it is not shown.
func resident(pid int) (float64, error) {
	if !hasResident {
		return 0, nil
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kib, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("VmRSS of process %d: %w", pid, err)
	}
	return kib * 1024 / 1e6, nil
}
