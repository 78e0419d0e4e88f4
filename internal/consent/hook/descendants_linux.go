package hook

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Limits of the search, for a hook that starts processes faster than they are
// found.
const (
	maxDescendants = 1000 // number of processes
	maxRounds      = 100  // one millisecond each; a busy machine may need several
)

// descendants holds the descendants of a hook, in particular those that have left its
// process group. They are found by the hook's session, which timeout(1) does
// not leave, or by their parents, which finds processes started with setsid(1).
// A process that has both left the session and lost its parent is not found.
type descendants struct {
	found []*os.Process // by a descriptor, so that a reused id cannot be hit
}

// freeze stops the hook and its descendants, and repeats the search until it
// finds no more. A running process could start another one, or end and leave
// one without a parent, during the search. A process that received SIGSTOP may
// still be starting another one.
func (k *descendants) freeze(leader int) {
	for range maxRounds {
		before := len(k.found)
		_ = syscall.Kill(-leader, syscall.SIGSTOP)
		k.signal(leader, syscall.SIGSTOP)
		still := isStopped(leader)
		for _, p := range k.found {
			still = still && isStopped(p.Pid)
		}
		if k.look(leader); still && len(k.found) == before {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// look adds the processes that belong to the hook or descend from those already
// found.
func (k *descendants) look(leader int) {
	all := processes()
	ours := map[int]bool{leader: true}
	for _, p := range k.found {
		if p.Signal(syscall.Signal(0)) == nil { // otherwise its id may have been reused
			ours[p.Pid] = true
		}
	}
	for more := true; more && len(ours) < maxDescendants; {
		more = false
		for pid, s := range all {
			if !ours[pid] && (s.session == leader || ours[s.parent]) {
				ours[pid], more = true, true
				k.add(pid, s)
			}
		}
	}
}

func (k *descendants) add(pid int, s status) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	if now, ok := look(pid); ok && now.started == s.started { // the id has not been reused
		k.found = append(k.found, p)
		return
	}
	_ = p.Release()
}

// status holds the relevant fields of /proc/PID/stat.
type status struct {
	state           byte
	parent, session int
	started         string // start time in ticks since boot
}

// isStopped reports whether a process can start no other now, because it is
// stopped or has ended.
func isStopped(pid int) bool {
	s, ok := look(pid)
	return !ok || s.state != 'R' && s.state != 'S' && s.state != 'D'
}

// processes returns all processes by id.
func processes() map[int]status {
	all := map[int]status{}
	dir, err := os.Open("/proc")
	if err != nil {
		return all
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if s, ok := look(pid); ok {
				all[pid] = s
			}
		}
	}
	return all
}

func look(pid int) (s status, ok bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, false
	}
	// The format is "pid (comm) state parent group session ...". comm may
	// contain any bytes.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	const state, parent, session, started = 0, 1, 3, 19
	if len(fields) <= started {
		return s, false
	}
	s.state, s.started = fields[state][0], fields[started]
	s.parent, _ = strconv.Atoi(fields[parent])
	s.session, _ = strconv.Atoi(fields[session])
	return s, true
}

// signal sends a signal to the processes outside of the group, which a signal
// to the group does not reach.
func (k *descendants) signal(group int, sig syscall.Signal) {
	for _, p := range k.found {
		if now, err := syscall.Getpgid(p.Pid); err != nil || now != group {
			_ = p.Signal(sig) // an error means that it has ended
		}
	}
}

func (k *descendants) release() {
	for _, p := range k.found {
		_ = p.Release()
	}
	k.found = nil
}
