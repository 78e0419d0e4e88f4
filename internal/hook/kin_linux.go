package hook

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// maxKin bounds how many processes outside of the group are looked for.
const maxKin = 1000

// kin are processes below a hook that have left its process group, as timeout
// and setsid do. One that lost its parent before it was looked for is not found.
type kin struct {
	found []*os.Process // by a descriptor, so that no other process is meant
}

// look adds what is now below a process, or below what was found before.
func (k *kin) look(leader int) {
	next := []int{leader}
	for _, p := range k.found {
		next = append(next, p.Pid)
	}
	seen := map[int]bool{}
	for len(next) > 0 && len(seen) < maxKin {
		parent := next[0]
		next = next[1:]
		for _, pid := range children(parent) {
			if seen[pid] {
				continue
			}
			seen[pid] = true
			next = append(next, pid)
			if group, err := syscall.Getpgid(pid); err == nil && group != leader {
				k.add(parent, pid)
			}
		}
	}
}

func (k *kin) add(parent, pid int) {
	if slices.ContainsFunc(k.found, func(p *os.Process) bool { return p.Pid == pid }) {
		return
	}
	p, err := os.FindProcess(pid)
	switch {
	case err != nil:
	case slices.Contains(children(parent), pid): // still: the number has not passed to another
		k.found = append(k.found, p)
	default:
		_ = p.Release()
	}
}

func (k *kin) signal(sig syscall.Signal) {
	for _, p := range k.found {
		_ = p.Signal(sig) // an error: it has ended
	}
}

func (k *kin) release() {
	for _, p := range k.found {
		_ = p.Release()
	}
	k.found = nil
}

// children are the processes that the threads of a process have started.
func children(pid int) []int {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	var pids []int
	for _, file := range files {
		data, _ := os.ReadFile(file)
		for _, word := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
