//go:build linux || windows

package approval

import (
	"errors"
	"slices"
)

// maxAncestors is more than any process has. A chain that is longer is one that
// changes while it is read.
const maxAncestors = 1000

var (
	errBelow   = errors.New("a process that the server started cannot decide on approvals; the user has to, in a terminal of their own")
	errUnknown = errors.New("it is not known whether the server started the process that asks")
)

// relative is a process as its children and we see it.
type relative struct {
	pid    int
	parent int
	start  string // when it was started; ids are used again
	ours   bool   // it runs this program
}

// errForeign is the error for a process of another user, which cannot be inspected.
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
