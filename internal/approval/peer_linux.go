package approval

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxAncestors is more than any process has. A chain that is longer is one that
// changes while it is read.
const maxAncestors = 1000

var (
	errBelow   = errors.New("what the server itself started cannot decide on approvals; a person has to, in a terminal of their own")
	errUnknown = errors.New("the process that asks cannot be told from one that the server started")
)

// checkPeer refuses who must not decide: other users, and what runs below this
// server or another one. Root could do anything.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return errUnknown
	}
	var cred *unix.Ucred
	var credErr error
	fd, fdErr := -1, error(nil)
	err = raw.Control(func(s uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(s), unix.SOL_SOCKET, unix.SO_PEERCRED)
		fd, fdErr = unix.GetsockoptInt(int(s), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	})
	if err != nil || credErr != nil {
		return errUnknown
	}
	if err := checkUser(int(cred.Uid), os.Geteuid()); err != nil {
		return err
	}
	if fdErr == nil {
		defer unix.Close(fd)
	} else if fdErr != unix.ENOPROTOOPT && fdErr != unix.ENOSYS { // before Linux 6.5
		return errUnknown // it has ended
	}
	if err := checkAncestors(int(cred.Pid), os.Getpid(), look); err != nil {
		return err
	}
	if fdErr == nil && ended(fd) {
		return errUnknown // so that another process may have its id
	}
	return nil
}

// checkUser: the mode of the socket says the same.
func checkUser(peer, own int) error {
	if peer != own && peer != 0 {
		return fmt.Errorf("user %d cannot decide on approvals of user %d", peer, own)
	}
	return nil
}

// ended reports whether the process of a descriptor has ended.
func ended(pidfd int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 0)
	return err != nil || n != 0
}

// relative is a process as its children and we see it.
type relative struct {
	pid    int
	parent int
	start  string // when it was started; ids are used again
	ours   bool   // it runs this program
}

// errForeign says that a process may not be looked at, being another user's.
var errForeign = errors.New("another user's process")

// checkAncestors refuses a process that is below the server's, or below one
// that runs this program as the server does: a supervisor or another server.
// The server's own process is not below itself. Two looks have to agree,
// since a process whose parent ends gets another one.
func checkAncestors(pid, server int, look func(pid int) (relative, error)) error {
	if pid <= 0 {
		return errUnknown // of another PID namespace
	}
	first, err := chain(pid, look)
	if err != nil {
		return errUnknown
	}
	second, err := chain(pid, look)
	if err != nil || !slices.Equal(first, second) {
		return errUnknown
	}
	for _, r := range first[1:] {
		if r.pid == server || r.ours {
			return errBelow
		}
	}
	return nil
}

// chain is a process and all that are above it, as far as can be seen: nothing
// of ours is above what belongs to another user.
func chain(pid int, look func(pid int) (relative, error)) ([]relative, error) {
	var all []relative
	for pid > 0 {
		r, err := look(pid)
		if errors.Is(err, errForeign) && len(all) > 0 {
			return all, nil
		}
		if err != nil || len(all) == maxAncestors {
			return nil, errUnknown
		}
		all = append(all, r)
		pid = r.parent
	}
	return all, nil
}

// look reads /proc, which may be mounted so that it hides other users'
// processes.
func look(pid int) (relative, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	data, err := os.ReadFile(dir + "/stat")
	if err != nil {
		if unix.Kill(pid, 0) == unix.EPERM {
			return relative{}, errForeign
		}
		return relative{}, err
	}
	// pid (comm) state ppid ..., where comm may hold anything.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	const parent, start = 1, 19
	if len(fields) <= start {
		return relative{}, fmt.Errorf("reading %s/stat: it is cut off", dir)
	}
	r := relative{pid: pid, start: fields[start]}
	if r.parent, err = strconv.Atoi(fields[parent]); err != nil {
		return relative{}, fmt.Errorf("reading %s/stat: %w", dir, err)
	}
	r.ours = sameProgram(dir + "/exe")
	return r, nil
}

// sameProgram reports whether a process runs the program that we do. What may
// not be looked at is another user's.
func sameProgram(exe string) bool {
	theirs, err := os.Stat(exe)
	if err != nil {
		return false
	}
	ours, err := os.Stat("/proc/self/exe")
	return err == nil && os.SameFile(theirs, ours)
}
