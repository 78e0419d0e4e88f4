package socket

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// checkPeer rejects peers that must not decide: other users, and descendants of
// this server or another one. Root is accepted, because it could do anything.
func checkPeer(c Conn) error {
	raw, err := c.(*net.UnixConn).SyscallConn()
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
		return errUnknown // the peer has ended
	}
	if err := checkAncestors(int(cred.Pid), os.Getpid(), look); err != nil {
		return err
	}
	if fdErr == nil && ended(fd) {
		return errUnknown // another process may have its id
	}
	return nil
}

// checkUser rejects other users. The mode of the socket does the same.
func checkUser(peer, own int) error {
	if peer != own && peer != 0 {
		return fmt.Errorf("user %d cannot decide on approvals of user %d", peer, own)
	}
	return nil
}

// ended reports whether the process of a pidfd has ended.
func ended(pidfd int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 0)
	return err != nil || n != 0
}

// look reads a process from /proc, which may be mounted so that it hides the
// processes of other users.
func look(pid int) (relative, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	data, err := os.ReadFile(dir + "/stat")
	if err != nil {
		if unix.Kill(pid, 0) == unix.EPERM {
			return relative{}, errForeign
		}
		return relative{}, err
	}
	// The format is "pid (comm) state ppid ...". comm may contain any bytes.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	const parent, start = 1, 19
	if len(fields) <= start {
		return relative{}, fmt.Errorf("reading %s/stat: it is cut off", dir)
	}
	r := relative{pid: pid, start: fields[start]}
	if r.parent, err = strconv.Atoi(fields[parent]); err != nil {
		return relative{}, fmt.Errorf("reading %s/stat: %w", dir, err)
	}
	r.sameProgram = sameProgram(dir + "/exe")
	return r, nil
}

// sameProgram reports whether a process runs the same program as this one. It
// returns false for a process of another user, which cannot be inspected.
func sameProgram(exe string) bool {
	theirs, err := os.Stat(exe)
	if err != nil {
		return false
	}
	ours, err := os.Stat("/proc/self/exe")
	return err == nil && os.SameFile(theirs, ours)
}

// lookFrom returns look. Windows needs the first process of a chain.
func lookFrom(int) func(int) (relative, error) { return look }
