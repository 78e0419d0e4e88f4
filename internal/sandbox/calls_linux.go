//go:build amd64 || arm64

package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// system is what changes the system or looks into the kernel, or passes by
// other layers. No build needs it. In both profiles.
var system = []uint32{
	// io_uring makes system calls that no filter sees.
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	// Mounts and namespaces.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_TREE_ATTR,
	// The kernel: programs, modules, other kernels, its log, its counters.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
	unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_SYSLOG, unix.SYS_LOOKUP_DCOOKIE,
	// Keys of the session.
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	// The machine as a whole.
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_NFSSERVCTL, unix.SYS_VHANGUP, unix.SYS_FANOTIFY_INIT,
	// Files without their paths, descriptors of others.
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
}

// metadata is the changes of files that Landlock does not see.
var metadata = []uint32{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR,
	unix.SYS_FREMOVEXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
}

// modes is where calls that give a file its mode have it among their arguments.
// mkdir is not here: it sets neither of the two bits.
var modes = []modeCall{
	{call: unix.SYS_OPENAT, mode: 3, flags: 2}, {call: unix.SYS_FCHMOD, mode: 1}, {call: unix.SYS_FCHMODAT, mode: 2},
	{call: unix.SYS_FCHMODAT2, mode: 2}, {call: unix.SYS_MKNODAT, mode: 2},
}

// modeCall is one of them; flags, if not 0, is the argument that says whether a
// file is made, without which there is no mode.
type modeCall struct {
	call        uint32
	mode, flags int
}

// ipc is System V and POSIX objects, which have no path.
var ipc = []uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// trace is looking into other processes. Debuggers and sanitizers need it for
// their own children, to whom Landlock keeps it.
var trace = []uint32{unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE}

// sockets is what a socket needs to reach somebody. Pairs of them do not.
var sockets = []uint32{unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN}

// fileFlags is the ioctls that change a file opened for reading.
var fileFlags = []uint32{
	unix.FS_IOC_SETFLAGS, 0x401c5820 /* FSSETXATTR */, 0x40087602 /* SETVERSION */, unix.FS_IOC_ENABLE_VERITY,
	unix.FS_IOC_SET_ENCRYPTION_POLICY, 0x41009432 /* FSSETLABEL */, 0x40049409, /* FICLONE */
}

const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

const (
	whole     = ^uint32(0)
	typeMask  = 0xf // of a socket's type; the rest is flags
	mfdNoExec = 0x8 // MFD_NOEXEC_SEAL
	setID     = unix.S_ISUID | unix.S_ISGID
	// makesFile is what of open's flags makes a file: O_TMPFILE has a bit that
	// O_DIRECTORY has not.
	makesFile = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
)

// denials is the filter of a policy.
func denials(p Policy, l layers) []denial {
	var out []denial
	deny := func(calls ...uint32) {
		for _, c := range calls {
			out = append(out, denial{call: c, errno: unix.EPERM})
		}
	}
	denyIf := func(call uint32, tests ...test) {
		out = append(out, denial{call, unix.EPERM, tests})
	}
	// A program that runs with the rights of this user, left in a folder that
	// others reach, would hand these on. Opening is what commands do most, so it
	// is looked at first.
	for _, c := range slices.Concat(modes, oldModes) {
		tests := []test{{c.mode, setID, 0, true}}
		if c.flags != 0 {
			tests = append([]test{{c.flags, makesFile, 0, true}}, tests...)
		}
		denyIf(c.call, tests...)
	}
	// Its mode is in memory. Programs fall back to openat where it is unknown.
	out = append(out, denial{call: unix.SYS_OPENAT2, errno: unix.ENOSYS})
	deny(system...)
	deny(oldSystem...)
	denyIf(unix.SYS_CLONE, test{0, newNamespaces, 0, true})
	// Its flags are in memory. Programs fall back to clone where it is unknown.
	out = append(out, denial{call: unix.SYS_CLONE3, errno: unix.ENOSYS})
	// A file in memory can be run; sealed against that it is harmless.
	out = append(out, denial{unix.SYS_MEMFD_CREATE, unix.ENOSYS, []test{{1, mfdNoExec, 0, false}}})
	out = append(out, denial{call: unix.SYS_MEMFD_SECRET, errno: unix.ENOSYS})
	// Typing into a terminal for the person before it.
	denyIf(unix.SYS_IOCTL, test{1, whole, unix.TIOCSTI, false})
	denyIf(unix.SYS_IOCTL, test{1, whole, unix.TIOCLINUX, false})
	if p.ReadOnly || l.abi == 0 {
		deny(trace...)
	}
	if p.ReadOnly || !l.ipc {
		deny(ipc...)
	}
	out = append(out, socketDenials(p)...)
	if !p.ReadOnly {
		return out
	}
	deny(metadata...)
	deny(oldMetadata...)
	deny(sockets...)
	for _, flag := range fileFlags {
		denyIf(unix.SYS_IOCTL, test{1, whole, flag, false})
	}
	// Priorities and limits of others.
	for _, c := range []uint32{unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETAFFINITY} {
		denyIf(c, test{0, whole, 0, true})
	}
	denyIf(unix.SYS_SETPRIORITY, test{0, whole, 0, true}) // not PRIO_PROCESS
	denyIf(unix.SYS_SETPRIORITY, test{1, whole, 0, true})
	denyIf(unix.SYS_IOPRIO_SET, test{1, whole, 0, true})
	denyIf(unix.SYS_PRLIMIT64, test{0, whole, 0, true})
	return out
}

// socketDenials leaves the families a policy allows, and of netlink the list of
// the machine's own interfaces and routes, which many programs read.
func socketDenials(p Policy) []denial {
	allowed := []uint32{unix.AF_NETLINK}
	if !p.ReadOnly {
		allowed = append(allowed, unix.AF_UNIX)
	}
	if p.online() {
		allowed = append(allowed, unix.AF_INET, unix.AF_INET6)
	}
	var others []test
	for _, family := range allowed {
		others = append(others, test{0, whole, family, true})
	}
	out := []denial{
		{unix.SYS_SOCKET, unix.EPERM, others},
		{unix.SYS_SOCKET, unix.EPERM, []test{{0, whole, unix.AF_NETLINK, false}, {2, whole, unix.NETLINK_ROUTE, true}}},
		{unix.SYS_SOCKETPAIR, unix.EPERM, []test{{0, whole, unix.AF_UNIX, true}}},
	}
	if p.ReadOnly {
		// From one of a pair of datagram sockets any other can be sent to; of
		// unix sockets SOCK_RAW is one, too.
		out = append(out, denial{unix.SYS_SOCKETPAIR, unix.EPERM, []test{
			{1, typeMask, unix.SOCK_STREAM, true}, {1, typeMask, unix.SOCK_SEQPACKET, true},
		}})
	}
	return out
}
