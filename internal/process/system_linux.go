package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	waitAll = unix.WALL // also what clone made to send no SIGCHLD
	rssUnit = 1 << 10   // bytes of what Rusage counts memory in

	// oomRaise is added to what the kernel thinks a process is worth ending for
	// when memory runs out, of 1,000: a command before its server.
	oomRaise = 500
)

// system is what a supervisor holds of the system. What it needs is opened
// before the command is confined, and this process with it.
type system struct {
	tier   Tier
	cgroup *cgroup
}

// prepare makes this process the supervisor of a tier.
func prepare(s setup) (*system, error) {
	closeInherited()
	sys := &system{tier: s.Tier}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	// Run as /proc/self/exe the process would be listed as "exe".
	_ = os.WriteFile("/proc/self/comm", []byte(filepath.Base(os.Args[0])), 0)
	var err error
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

// freshProc mounts a /proc of this PID namespace in this mount namespace.
// Mounts made elsewhere go on to appear here; none from here leaves.
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

// closeInherited closes what the server itself was handed by whoever started
// it: what Go opens is marked to be closed, what is not marked is theirs.
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

// close shuts this process off from the command, as the last thing before it
// starts. What holds for a thread only is done on this one, which starts it.
func (s *system) close() error {
	if s.tier != PIDNamespace {
		if _, err := os.ReadDir("/proc"); err != nil {
			return fmt.Errorf("the containment hides /proc, which is needed to find what a command leaves behind: %w", err)
		}
	}
	// A new user namespace was entered with capabilities for the containment;
	// the command has none of them.
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	// The command can neither trace this process nor look at what it has open.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("closing the supervisor off: %w", err)
	}
	var none unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &none, nil); err != nil {
		return fmt.Errorf("resetting the signal mask: %w", err)
	}
	return nil
}

// attributes are those of the command. One that is confined cannot be started in
// its cgroup: that takes clone3, which no filter of system calls can judge.
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

// started is called with a command that has just been started.
func (s *system) started(pid int, confined bool) error {
	if s.cgroup == nil || !confined {
		return nil
	}
	return s.cgroup.join(pid)
}

// raiseOOM raises what the command inherits, until restore. For one that is
// confined it is left so: a file that is open for writing would keep its file
// system from being made read-only, and later it cannot be opened any more. Its
// supervisor is as likely to be ended then as a command, which takes more.
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

// remains reports whether anything is left of which this process is no parent:
// it adopts all.
func (s *system) remains(int) bool { return false }

// terminate tells all to end; what is stopped is woken to hear it.
func (s *system) terminate(int) {
	if s.tier == PIDNamespace {
		signalNamespace(unix.SIGTERM)
		signalNamespace(unix.SIGCONT)
		return
	}
	// A process that is made just now is told, too, but none that is made to
	// clean up.
	all := freeze()
	for _, p := range all {
		p.signal(unix.SIGTERM)
	}
	for _, p := range all {
		p.signal(unix.SIGCONT)
	}
}

// freeze stops all that this process has below it, and lists it. What is
// stopped makes no children, and cannot refuse to stop: so the tree holds still,
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

// signalNamespace sends a signal to every process of this PID namespace but
// this one. Anywhere else it would be to every process of the machine.
func signalNamespace(sig unix.Signal) {
	if os.Getpid() == 1 {
		_ = unix.Kill(-1, sig)
	}
}

// kill kills all, and lists what was there if it has to be looked for. What is
// being made meanwhile is left to the next call.
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

// names names what is alive.
func (s *system) names(int) (names []string, count int) {
	for _, p := range descendants(os.Getpid()) {
		if p.zombie {
			continue
		}
		if count++; count <= maxNamed {
			names = append(names, p.name())
		}
	}
	if count == 0 { // /proc is out of reach, or it has just ended
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

func socketPair() ([2]int, error) {
	return unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
}

// killGroup kills what is left of the group of a command whose supervisor is
// gone. The command itself has ended with the supervisor, so its group is the
// same as long as anybody is in it.
func killGroup(pid int) {
	if pid > 1 {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
}

// systemTiers are the tiers of this system.
func systemTiers() []Tier { return []Tier{PIDNamespace, Cgroup, Subreaper} }

// attributes are those of a supervisor: apart from the server's terminal, and
// ended when the server's thread that starts processes is.
func attributes(t Tier) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
	if t != PIDNamespace {
		return a // it ends the command first
	}
	a.Pdeathsig = syscall.SIGKILL
	a.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		a.Cloneflags |= unix.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		// A user other than root loses them when our program is run otherwise.
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_CHROOT, unix.CAP_NET_ADMIN, unix.CAP_DAC_OVERRIDE}
	}
	return a
}

var errNoCgroup = errors.New("there is no cgroup file system of version 2")

func threadID() int { return unix.Gettid() }

// killHalfStarted kills the children of a thread that have not become another
// program yet, so that whoever starts them does not wait any more. A supervisor
// is known by its argument.
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
