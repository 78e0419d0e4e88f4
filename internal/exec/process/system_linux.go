package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	waitAll = unix.WALL // includes processes that clone made with no SIGCHLD
	rssUnit = 1 << 10   // bytes per unit of memory in Rusage

	// oomRaise is added to the OOM score adjustment (maximum 1,000) of a command,
	// so that the kernel kills it before its server when memory runs out.
	oomRaise = 500
)

// system holds what a supervisor needs of the system. It is opened before the
// command is confined, since that confines the supervisor too.
type system struct {
	tier   Tier
	cgroup *cgroup
}

// prepare makes this process the supervisor of a tier.
func prepare(s setup) (*system, error) {
	closeInherited()
	sys := &system{tier: s.Tier}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	// Started as /proc/self/exe, the process would be listed as "exe".
	_ = os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0)
	var err error
	if s.Spawner {
		return sys, nil
	}
	switch s.Tier {
	case PIDNamespace:
		err = freshProc()
	case Cgroup:
		if sys.cgroup, err = openCgroup(s.Cgroup); err == nil {
			err = adoptOrphans()
		}
	case Subreaper:
		err = adoptOrphans()
	default:
		err = refused("it is not made for this system", nil)
	}
	if err != nil {
		return nil, err
	}
	return sys, nil
}

func refused(what string, err error) error {
	if err != nil {
		what += ": " + err.Error()
	}
	return &failure{Text: what, Refused: true}
}

// freshProc mounts the /proc of this PID namespace in this mount namespace. Mounts
// made in the original namespace still appear here; mounts made here do not appear
// there.
func freshProc() error {
	if os.Getpid() != 1 {
		return refused("the supervisor is not the first process of its namespace", nil)
	}
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return refused("keeping mounts apart", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return refused("mounting /proc for the namespace", err)
	}
	return nil
}

func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return refused("adopting orphans", err)
	}
	return nil
}

// closeInherited closes the descriptors that the server inherited from the program
// that started it. Go marks the ones it opens as close-on-exec, so the unmarked
// ones are inherited.
func closeInherited() {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= controlFD {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}

// catchReserved catches the signals that C libraries reserve and that package signal
// leaves at their default action, the end of the process. Being the first process of a
// PID namespace does not protect from them: the kernel ends a process with several
// threads while its main thread blocks the signal, and the runtime does block all
// signals while it creates a thread. Ignored signals, unlike caught ones, would be
// ignored in the command too.
func catchReserved() {
	// The kernel's sigaction: handler, flags, restorer, and mask.
	var action [5]uintptr
	rtSigaction(unix.SIGUSR1, nil, &action)
	action[0] = reflect.ValueOf(returns).Pointer()
	for _, sig := range []syscall.Signal{32, 34} {
		rtSigaction(sig, &action, nil)
	}
}

// returns is a handler of signals. It runs without a goroutine, so it must stay empty.
//
//go:nosplit
//go:norace
func returns() {}

// rtSigaction sets the action of a signal, and returns the former one in old.
func rtSigaction(sig syscall.Signal, action, old *[5]uintptr) {
	const setSize = 8 // of the kernel's set of signals
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(action)),
		uintptr(unsafe.Pointer(old)), setSize, 0, 0)
}

// close protects this process from the command, as the last step before the start.
// Settings that apply to one thread are made on this thread, which starts the
// command.
func (s *system) close() error {
	if s.tier != PIDNamespace {
		if _, err := os.ReadDir("/proc"); err != nil {
			return fmt.Errorf("the containment hides /proc, which is needed to find what a command leaves behind: %w", err)
		}
	}
	// In a new user namespace the supervisor has capabilities to set up the
	// sandbox. The command gets none of them.
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	// The command can neither trace this process nor access its descriptors.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("closing the supervisor off: %w", err)
	}
	var none unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &none, nil); err != nil {
		return fmt.Errorf("resetting the signal mask: %w", err)
	}
	return nil
}

// attributes returns the attributes of the command. A confined command cannot be
// started inside its cgroup: that takes clone3, whose arguments no system call
// filter can inspect.
func (s *system) attributes(confined bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	if s.tier != PIDNamespace {
		a.Pdeathsig = syscall.SIGKILL
	}
	if s.cgroup != nil && !confined {
		a.UseCgroupFD, a.CgroupFD = true, s.cgroup.dir
	}
	return a
}

// started puts a command that has just been started into its cgroup, if it was not
// started there.
func (s *system) started(pid int, confined bool) error {
	if s.cgroup == nil || !confined {
		return nil
	}
	return s.cgroup.join(pid)
}

// raiseOOM raises the OOM score adjustment, which the command inherits, until
// restore. With confined, the value stays raised: a file open for writing would
// prevent its file system from being made read-only, and later it cannot be opened
// again. The supervisor is then as likely to be killed as a command, but a command
// uses more memory.
func (s *system) raiseOOM(confined bool) (restore func()) {
	f, err := os.OpenFile("/proc/self/oom_score_adj", os.O_RDWR, 0)
	if err != nil {
		return func() {}
	}
	buf := make([]byte, 16)
	n, _ := f.ReadAt(buf, 0)
	was, err := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	set := func(value int) { _, _ = f.WriteAt([]byte(strconv.Itoa(value)), 0) }
	if err == nil {
		set(min(was+oomRaise, 1000))
	}
	if err != nil || confined {
		_ = f.Close()
		return func() {}
	}
	return func() { set(was); _ = f.Close() }
}

// groupAlive returns false: this process adopts every orphan, so all processes left
// are its descendants.
func (s *system) groupAlive(int) bool { return false }

// terminate sends SIGTERM to all processes, and continues stopped ones so that they
// handle it.
func (s *system) terminate(int) {
	if s.tier == PIDNamespace {
		signalNamespace(unix.SIGTERM)
		signalNamespace(unix.SIGCONT)
		return
	}
	// Processes that are being created get the signal too. Processes that are
	// started to clean up do not.
	all := freeze()
	for _, p := range all {
		p.signal(unix.SIGTERM)
	}
	for _, p := range all {
		p.signal(unix.SIGCONT)
	}
}

// freeze stops all descendants of this process and lists them. A stopped process
// creates no children, and SIGSTOP cannot be blocked. So the tree stops changing,
// however fast it grew.
func freeze() (all []listed) {
	const rounds = 100
	stopped := map[processID]bool{}
	for range rounds {
		more := false
		all = descendants(os.Getpid())
		for _, p := range all {
			if !stopped[p.processID] {
				stopped[p.processID] = true
				more = true
				p.signal(unix.SIGSTOP)
			}
		}
		if !more {
			break
		}
	}
	return all
}

// signalNamespace sends a signal to every process of this PID namespace except this
// one. It does nothing outside of a namespace of our own, where the signal would
// reach every process of the machine.
func signalNamespace(sig unix.Signal) {
	if os.Getpid() == 1 {
		_ = unix.Kill(-1, sig)
	}
}

// kill kills all processes, and lists them if the tier has to look for them.
// Processes that are created meanwhile are left to the next call.
func (s *system) kill(int) (left []processID) {
	if s.tier == PIDNamespace {
		signalNamespace(unix.SIGKILL)
		return nil
	}
	if s.cgroup != nil {
		s.cgroup.kill()
	}
	for _, p := range freeze() {
		p.signal(unix.SIGKILL)
		left = append(left, p.processID)
	}
	return left
}

// names returns the names of living descendants, at most maxNamed, and their
// number.
func (s *system) names(int) (names []string, count int) {
	for _, p := range descendants(os.Getpid()) {
		if p.zombie {
			continue
		}
		if count++; count <= maxNamed {
			names = append(names, p.name())
		}
	}
	if count == 0 { // /proc is unreadable, or the process has just ended
		return []string{"a process that cannot be named"}, 1
	}
	return names, count
}

func (s *system) release() {
	if s.cgroup != nil {
		s.cgroup.remove()
	}
}

func recvmsg(fd int, p, oob []byte) (n, oobn int, err error) {
	n, oobn, _, _, err = unix.Recvmsg(fd, p, oob, unix.MSG_CMSG_CLOEXEC)
	return n, oobn, err
}

func socketPair(kind int) ([2]int, error) {
	return unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
}

// killGroup kills the process group of a command whose supervisor has ended. The
// command has ended with the supervisor. The id of its group is not reused while
// the group has members.
func killGroup(pid int) {
	if pid > 1 {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
}

// systemTiers returns the tiers of this system.
func systemTiers() []Tier { return []Tier{PIDNamespace, Cgroup, Subreaper} }

// attributes returns the attributes of a supervisor. It has a session of its own,
// without the server's terminal. It gets a signal when the thread that started it
// ends.
func attributes(t Tier) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
	if t != PIDNamespace {
		return a // it ends the command before itself
	}
	a.Pdeathsig = syscall.SIGKILL
	a.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC
	return a // capabilities are those of the spawner
}

// spawnerAttributes returns the attributes of the spawner. Unless the server is root,
// the spawner has a user namespace of its own.
func spawnerAttributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		a.Cloneflags = unix.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		// A user other than root loses capabilities when a program is executed.
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_CHROOT, unix.CAP_NET_ADMIN, unix.CAP_DAC_OVERRIDE}
	}
	return a
}

var errNoCgroup = errors.New("there is no cgroup file system of version 2")

func threadID() int { return unix.Gettid() }

// killHalfStarted kills the children of a thread of this process that have not
// executed their program yet, so that the start does not wait any longer. A
// supervisor that runs is recognised by its argument.
func killHalfStarted(thread int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", thread))
	if err != nil {
		return
	}
	for _, number := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && len(args) > 0 && !strings.HasSuffix(string(args), "\x00"+Arg+"\x00") {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}
