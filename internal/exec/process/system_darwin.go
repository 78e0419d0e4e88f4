package process

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	waitAll = 0
	rssUnit = 1
)

// system ends the processes of a command by its process group.
type system struct{}

func prepare(s setup) (*system, error) {
	if s.Tier != ProcessGroup {
		return nil, &failure{Text: "this system has none", Refused: true}
	}
	// Do not pass on descriptors that the server inherited from the program that
	// started it.
	const likely = 256
	for fd := controlFD + 1; fd < likely; fd++ {
		unix.CloseOnExec(fd)
	}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	return &system{}, nil
}

// openTerminal fails: no confinement has terminals of its own here.
func openTerminal(TerminalSize) (master, slave int, err error) { return -1, -1, errors.ErrUnsupported }

// catchReserved does nothing: package signal catches all signals here.
func catchReserved() {}

func (s *system) close() error { return nil }

func (s *system) attributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func (s *system) raiseOOM(bool) (restore func()) { return func() {} }

func (s *system) terminate(pid int) {
	_ = unix.Kill(-pid, unix.SIGTERM)
	_ = unix.Kill(-pid, unix.SIGCONT)
}

func (s *system) kill(pid int) []processID {
	_ = unix.Kill(-pid, unix.SIGKILL)
	return nil
}

// groupAlive reports whether any process is in the command's process group. Orphans
// are not adopted by this process.
func (s *system) groupAlive(pid int) bool { return unix.Kill(-pid, 0) == nil }

// names returns a placeholder: processes left over are children of the system's
// first process and cannot be found.
func (s *system) names(int) ([]string, int) {
	return []string{"a process that cannot be named"}, 1
}

func (s *system) release() {}

func recvmsg(fd int, p, oob []byte) (n, oobn int, err error) {
	n, oobn, _, _, err = unix.Recvmsg(fd, p, oob, 0)
	return n, oobn, err
}

func socketPair(kind int) (fds [2]int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if fds, err = unix.Socketpair(unix.AF_UNIX, kind, 0); err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	return fds, err
}

func killGroup(pid int) {
	if pid > 1 {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
}

// stopped reports whether a signal has stopped a process.
func stopped(pid int) bool {
	const sstop = 4 // from sys/proc.h
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && info.Proc.P_stat == sstop
}

func systemTiers() []Tier { return []Tier{ProcessGroup} }

func attributes(Tier) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func (r *Runner) startChild(ctx context.Context, t Tier, theirs *os.File, stderr io.Writer, late func()) (child, bool, error) {
	return r.forkSelf(ctx, attributes(t), theirs, stderr, late)
}

type spawnServer struct{}

func newSpawnServer() *spawnServer { return nil }

func (b *spawnServer) serve(*channel, <-chan os.Signal) {}

func makeCgroup(Tier) (string, error) { return "", nil }
func killCgroup(string)               {}
func removeCgroup(string)             {}

func (s *system) started(int, bool) error { return nil }
