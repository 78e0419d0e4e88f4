//go:build unix

package document

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// apart returns attributes that put a process into a group of its own. An interrupt typed
// at a terminal goes to the server's whole group. The server decides how its calls end; a
// process killed by the interrupt would make its file look damaged.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// wasKilled reports whether a process was killed by SIGKILL, which it cannot catch.
func wasKilled(p *os.ProcessState) bool {
	s, ok := p.Sys().(syscall.WaitStatus)
	return ok && s.Signaled() && s.Signal() == syscall.SIGKILL
}

// peakMemory returns the peak resident memory of a process, in bytes. On Linux it is at
// least that of the server: the kernel counts the memory from before the exec.
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

// watchParent calls gone when the process with this id is no longer the parent: the
// system gives orphans another parent.
func watchParent(parent int, gone func()) {
	const every = 100 * time.Millisecond
	for ; os.Getppid() == parent; time.Sleep(every) {
	}
	gone()
}
