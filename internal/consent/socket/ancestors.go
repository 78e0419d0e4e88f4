//go:build linux || windows

package socket

import (
	"errors"
	"slices"
)

// maxAncestors is more than any process has. A longer chain means that it
// changed while it was read.
const maxAncestors = 1000

var (
	ErrBelow   = errors.New("a process that the server started cannot decide on approvals; the user has to, in a terminal of their own")
	errUnknown = errors.New("it is not known whether the server started the process that asks")
)

// relative describes a process in a chain of ancestors.
type relative struct {
	pid         int
	parent      int
	start       string // start time, because process ids are reused
	sameProgram bool   // whether it runs this program
}

// errForeign is the error for a process of another user, which cannot be inspected.
var errForeign = errors.New("another user's process")

// checkAncestors rejects a process that descends from the server's process, or
// from one that runs this program, which is a supervisor or another server. The
// server's own process does not count as its descendant. The chain is read
// twice and must not change, because a process gets a new parent when its
// parent ends.
func checkAncestors(pid, server int, look func(pid int) (relative, error)) error {
	if pid <= 0 {
		return errUnknown // in another PID namespace
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
		if r.pid == server || r.sameProgram {
			return ErrBelow
		}
	}
	return nil
}

// chain returns a process and its ancestors. It stops at a process of another
// user: none of our processes is above one.
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
