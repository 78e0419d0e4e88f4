package hook

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Limits of looking, for a hook that starts processes faster than they are found.
const (
	maxKin    = 1000 // processes
	maxRounds = 100  // a millisecond each, which a busy machine may need several of
)

// kin are the processes that a hook has started, for those among them that have
// left its process group. They are known by the hook's session, which timeout
// does not leave, or by their parents, who tell of what setsid started. Who has
// left the session and lost the parent is not found.
type kin struct {
	found []*os.Process // by a descriptor, so that no other process is meant
}

// freeze stops the hook and all that is below it until all are found: what runs
// could start a process, or end and leave it without a parent, while it is looked
// for. A process that was told to stop may be starting another one right now.
func (k *kin) freeze(leader int) {
	for range maxRounds {
		before := len(k.found)
		_ = syscall.Kill(-leader, syscall.SIGSTOP)
		k.signal(leader, syscall.SIGSTOP)
		still := isStill(leader)
		for _, p := range k.found {
			still = still && isStill(p.Pid)
		}
		if k.look(leader); still && len(k.found) == before {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// look adds what now belongs to the hook or is below what was found before.
func (k *kin) look(leader int) {
	all := processes()
	ours := map[int]bool{leader: true}
	for _, p := range k.found {
		if p.Signal(syscall.Signal(0)) == nil { // else its number may be another's now
			ours[p.Pid] = true
		}
	}
	for more := true; more && len(ours) < maxKin; {
		more = false
		for pid, s := range all {
			if !ours[pid] && (s.session == leader || ours[s.parent]) {
				ours[pid], more = true, true
				k.add(pid, s)
			}
		}
	}
}

func (k *kin) add(pid int, s status) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	if now, ok := look(pid); ok && now.started == s.started { // the number has not passed to another
		k.found = append(k.found, p)
		return
	}
	_ = p.Release()
}

// status is what is known of a process.
type status struct {
	state           byte
	parent, session int
	started         string // when, in ticks
}

// isStill reports whether a process starts no other now: it is stopped or has
// ended.
func isStill(pid int) bool {
	s, ok := look(pid)
	return !ok || s.state != 'R' && s.state != 'S' && s.state != 'D'
}

// processes are all there are, by number.
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
	// pid (comm) state parent group session ..., where comm may hold anything.
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

// signal sends a signal to those that a signal to a group does not reach.
func (k *kin) signal(group int, sig syscall.Signal) {
	for _, p := range k.found {
		if now, err := syscall.Getpgid(p.Pid); err != nil || now != group {
			_ = p.Signal(sig) // an error: it has ended
		}
	}
}

func (k *kin) release() {
	for _, p := range k.found {
		_ = p.Release()
	}
	k.found = nil
}
