package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// listed is a process as /proc lists it.
type listed struct {
	processID
	parent int
	zombie bool
	halted bool // stopped by a signal, not by a debugger
	comm   string
}

// descendants lists the processes below root. Orphans that appear while it lists
// become children of root, if root adopts them, and are found by the next call.
func descendants(root int) []listed {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	children := map[int][]listed{}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid != root {
			if p, ok := look(pid); ok {
				children[p.parent] = append(children[p.parent], p)
			}
		}
	}
	var all []listed
	// Parents come before their children. Each entry is removed with its children,
	// so that pids reused meanwhile cannot form a cycle.
	for next := []int{root}; len(next) > 0; next = next[1:] {
		found := children[next[0]]
		delete(children, next[0])
		for _, p := range found {
			all = append(all, p)
			next = append(next, p.pid)
		}
	}
	return all
}

// look reads the status of a process from /proc.
func look(pid int) (p listed, ok bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return p, false
	}
	// The format is "pid (comm) state ppid ..."; comm may contain any character.
	from, to := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if from < 0 || to < from {
		return p, false
	}
	fields := strings.Fields(string(data[to+1:]))
	const state, parent, start = 0, 1, 19
	if len(fields) <= start {
		return p, false
	}
	p = listed{comm: string(data[from+1 : to]), zombie: fields[state] == "Z" || fields[state] == "X", halted: fields[state] == "T"}
	p.pid = pid
	p.parent, _ = strconv.Atoi(fields[parent])
	p.start, err = strconv.ParseUint(fields[start], 10, 64)
	return p, err == nil
}

// stopped reports whether a signal has stopped a process.
func stopped(pid int) bool {
	p, ok := look(pid)
	return ok && p.halted
}

// signal sends a signal to the process, but not to a later one with the same pid.
func (p listed) signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		if err == unix.ENOSYS && p.same() {
			_ = unix.Kill(p.pid, sig)
		}
		return
	}
	defer unix.Close(fd)
	if p.same() {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

func (p listed) same() bool {
	now, ok := look(p.pid)
	return ok && now.start == p.start
}

// name returns the name of a process or, if that adds something, the beginning of
// its command line.
func (p listed) name() string {
	data, _ := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/cmdline")
	line := strings.TrimSpace(strings.ReplaceAll(string(data[:min(len(data), 4*maxName)]), "\x00", " "))
	program, _, more := strings.Cut(line, " ")
	switch {
	case line == "":
		return p.comm
	case !strings.HasPrefix(filepath.Base(program), p.comm): // a thread's or a script's name
		line = p.comm + ": " + line
	case !more:
		return p.comm
	}
	if utf8.RuneCountInString(line) > maxName {
		line = string([]rune(line)[:maxName-1]) + "…"
	}
	return line
}
