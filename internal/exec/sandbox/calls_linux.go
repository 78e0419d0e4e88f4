//go:build amd64 || arm64

package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// system lists calls that change the system, access kernel internals or bypass
// other layers. No build needs them. They are denied with and without ReadOnly.
var system = []uint32{
	// The calls that io_uring makes are invisible to filters.
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	// Mounts and namespaces.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_TREE_ATTR,
	// The kernel: programs, modules, other kernels, log, counters.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
	unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_SYSLOG, unix.SYS_LOOKUP_DCOOKIE,
	// Keys of the session.
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	// The machine as a whole.
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_NFSSERVCTL, unix.SYS_VHANGUP, unix.SYS_FANOTIFY_INIT,
	// Access to files without their paths, and to descriptors of other processes.
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
}

// metadata lists changes of files that Landlock does not control.
var metadata = []uint32{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR,
	unix.SYS_FREMOVEXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
}

// modes lists the calls that set a file's mode, with the argument that holds it.
// mkdir is not among them: it sets neither setuid nor setgid.
var modes = []modeCall{
	{call: unix.SYS_OPENAT, mode: 3, flags: 2}, {call: unix.SYS_FCHMOD, mode: 1}, {call: unix.SYS_FCHMODAT, mode: 2},
	{call: unix.SYS_FCHMODAT2, mode: 2}, {call: unix.SYS_MKNODAT, mode: 2},
}

// modeCall is a call that sets a mode. flags, if not 0, is the argument with open
// flags: there is a mode only if they make a file.
type modeCall struct {
	call        uint32
	mode, flags int
}

// ipc lists the calls for System V and POSIX objects, which have no path.
var ipc = []uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// trace lists calls that access other processes. Debuggers and sanitizers need them
// for their own children, to which Landlock limits them.
var trace = []uint32{unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE}

// sockets lists the calls that connect a socket to others. Socket pairs need none
// of them.
var sockets = []uint32{unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN}

// fileFlags lists ioctls that change a file opened for reading.
var fileFlags = []uint32{
	unix.FS_IOC_SETFLAGS, 0x401c5820 /* FSSETXATTR */, 0x40087602 /* SETVERSION */, unix.FS_IOC_ENABLE_VERITY,
	unix.FS_IOC_SET_ENCRYPTION_POLICY, 0x41009432 /* FSSETLABEL */, 0x40049409, /* FICLONE */
}

const newNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

const (
	whole     = ^uint32(0)
	typeMask  = 0xf // part of a socket's type without flags
	mfdNoExec = 0x8 // MFD_NOEXEC_SEAL
	setID     = unix.S_ISUID | unix.S_ISGID
	// makesFile holds the bits of open's flags that make a file: O_CREAT, and the
	// bit of O_TMPFILE that is not in O_DIRECTORY.
	makesFile = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
)

// denials returns the filter for a policy.
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
	// A setuid or setgid program of this user, left in a folder that others can
	// access, would give them this user's rights. This comes first in the filter,
	// since commands open files more often than anything else.
	for _, c := range slices.Concat(modes, oldModes) {
		tests := []test{{c.mode, setID, 0, true}}
		if c.flags != 0 {
			tests = append([]test{{c.flags, makesFile, 0, true}}, tests...)
		}
		denyIf(c.call, tests...)
	}
	// A filter cannot read its mode, which is in memory. Programs fall back to
	// openat if the call does not exist.
	out = append(out, denial{call: unix.SYS_OPENAT2, errno: unix.ENOSYS})
	deny(system...)
	deny(oldSystem...)
	denyIf(unix.SYS_CLONE, test{0, newNamespaces, 0, true})
	// A filter cannot read its flags, which are in memory. Programs fall back to
	// clone if the call does not exist.
	out = append(out, denial{call: unix.SYS_CLONE3, errno: unix.ENOSYS})
	// A memory file can be executed unless it is sealed against that.
	out = append(out, denial{unix.SYS_MEMFD_CREATE, unix.ENOSYS, []test{{1, mfdNoExec, 0, false}}})
	out = append(out, denial{call: unix.SYS_MEMFD_SECRET, errno: unix.ENOSYS})
	// These ioctls can type into a terminal on behalf of the user.
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
	// Priorities and limits of other processes.
	for _, c := range []uint32{unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETAFFINITY} {
		denyIf(c, test{0, whole, 0, true})
	}
	denyIf(unix.SYS_SETPRIORITY, test{0, whole, 0, true}) // not PRIO_PROCESS
	denyIf(unix.SYS_SETPRIORITY, test{1, whole, 0, true})
	denyIf(unix.SYS_IOPRIO_SET, test{1, whole, 0, true})
	denyIf(unix.SYS_PRLIMIT64, test{0, whole, 0, true})
	return out
}

// socketDenials denies all socket families but those that the policy allows. Of
// netlink it allows only the list of the machine's own interfaces and routes, which
// many programs read.
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
		// A socket of a datagram pair can send to any other socket. For unix
		// sockets SOCK_RAW means datagram too.
		out = append(out, denial{unix.SYS_SOCKETPAIR, unix.EPERM, []test{
			{1, typeMask, unix.SOCK_STREAM, true}, {1, typeMask, unix.SOCK_SEQPACKET, true},
		}})
	}
	return out
}
