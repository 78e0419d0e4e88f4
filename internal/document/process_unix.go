//go:build unix

package document

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// apart puts a process into a group of its own. An interrupt typed at a
// terminal goes to the whole group of the server, which then decides itself
// what becomes of its calls; a process that died of it would look as if its
// file were damaged.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// wasKilled reports whether a process was killed in a way it cannot catch.
func wasKilled(p *os.ProcessState) bool {
	s, ok := p.Sys().(syscall.WaitStatus)
	return ok && s.Signaled() && s.Signal() == syscall.SIGKILL
}

// peakMemory is the most that a process held resident, in bytes. On Linux it
// is at least the server's own: the kernel counts what was in place before
// this program was run again.
func peakMemory(p *os.ProcessState) int64 {
	u, ok := p.SysUsage().(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin" || runtime.GOOS == "ios":
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}

// watchParent calls gone when the parent is no longer the process with this id:
// orphans are adopted.
func watchParent(parent int, gone func()) {
	const every = 100 * time.Millisecond
	for ; os.Getppid() == parent; time.Sleep(every) {
	}
	gone()
}
