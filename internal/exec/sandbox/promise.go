package sandbox

// layers holds the layers in use, which decide which promises hold.
type layers struct {
	readOnly, online bool
	abi              int
	seccomp, mounts  bool
	pid, ipc         bool // whether the command has namespaces of its own
	net              bool // whether it has a network of its own
	capless          bool // whether no capabilities are left but those of FileRights
	terminals        bool // whether /dev/pts holds only terminals that the command makes
}

// promise is one thing that a confined command cannot do.
type promise struct {
	name, meaning string
	held          func(l layers) bool
	reason        string // the reason if it does not hold
}

// The names of promises, as in canaries and Coverage.Missing.
const (
	promiseWrite     = "write"
	promiseMetadata  = "metadata"
	promiseProtect   = "protect"
	promiseHide      = "hide"
	promiseRead      = "read"
	promiseTCP       = "tcp"
	promiseUDP       = "udp"
	promiseNetwork   = "network"
	promiseUnix      = "unix"
	promiseAbstract  = "abstract"
	promiseKill      = "kill"
	promisePtrace    = "ptrace"
	promiseEnviron   = "environ"
	promiseMount     = "mount"
	promiseUserns    = "userns"
	promiseIOUring   = "io_uring"
	promiseMemfd     = "memfd"
	promiseIPC       = "ipc"
	promisePrivilege = "privilege"
	promiseTerminal  = "terminal"
	promiseSetuid    = "setuid"
)

func seccompOnly(l layers) bool { return l.seccomp }

// promises lists all promises, with their meaning and the layers that enforce them.
var promises = []promise{
	{promiseWrite, "files outside of the writable folders are not created, changed or removed",
		func(l layers) bool { return l.abi >= 3 || l.mounts },
		"needs Landlock ABI 3 or mounts (below ABI 3 a file can be truncated)"},
	{promiseMetadata, "mode, owner, times and attributes of files outside of the writable folders stay as they are",
		func(l layers) bool { return l.mounts || l.readOnly && l.seccomp },
		"Landlock does not see chmod, chown, utimes and setxattr; needs mounts"},
	{promiseProtect, "protected names inside the writable folders are not changed",
		func(l layers) bool { return l.mounts || l.readOnly && l.abi >= 3 && l.seccomp },
		"Landlock cannot take a name away from a folder; needs mounts"},
	{promiseHide, "hidden names inside the readable folders are not read",
		func(l layers) bool { return l.mounts },
		"Landlock cannot take a name away from a folder; needs mounts"},
	{promiseRead, "files outside of the readable folders are not read",
		func(l layers) bool { return l.abi >= 1 }, "needs Landlock"},
	{promiseTCP, "no TCP connection is made",
		func(l layers) bool { return l.online || l.seccomp || l.abi >= 4 }, "needs seccomp or Landlock ABI 4"},
	{promiseUDP, "no datagram is sent to the network",
		func(l layers) bool { return l.online || l.seccomp || l.abi >= 10 }, "needs seccomp or Landlock ABI 10"},
	{promiseNetwork, "nothing outside of the session's own network is reached",
		func(layers) bool { return true }, "needs a network namespace"}, // a policy that wants it is not applied without it
	{promiseUnix, "no service is reached by a socket outside of the writable folders (docker, agents, the desktop's bus)",
		func(l layers) bool { return l.readOnly && l.seccomp || !l.readOnly && l.mounts || l.abi >= 9 },
		"seccomp cannot see the paths of sockets; needs mounts or Landlock ABI 9"},
	{promiseAbstract, "no service is reached by an abstract unix socket",
		func(l layers) bool { return l.readOnly && l.seccomp || l.abi >= 6 || l.net }, "needs Landlock ABI 6 or a network namespace"},
	{promiseKill, "no signal reaches a process that the command did not start",
		func(l layers) bool { return l.abi >= 6 || l.pid }, "needs Landlock ABI 6 or a PID namespace"},
	{promisePtrace, "no other process is traced",
		func(l layers) bool { return l.abi >= 1 || l.seccomp || l.pid }, "needs Landlock, seccomp or a PID namespace"},
	{promiseEnviron, "the environment and memory of the server are not read",
		func(l layers) bool { return l.capless && l.abi >= 1 || l.pid }, "needs Landlock or a PID namespace"},
	{promiseMount, "nothing is mounted or unmounted", seccompOnly, "needs seccomp"},
	{promiseUserns, "no namespace is made, in which the command would be root", seccompOnly, "needs seccomp"},
	{promiseIOUring, "io_uring, which passes by the filter of system calls, is off", seccompOnly, "needs seccomp"},
	{promiseMemfd, "no program is run from memory that no file shows", seccompOnly, "needs seccomp"},
	{promiseIPC, "shared memory and queues of other processes are not reached",
		func(l layers) bool { return l.seccomp || l.ipc }, "needs seccomp or an IPC namespace"},
	{promisePrivilege, "no program gains rights by its mode (setuid) or capabilities",
		func(l layers) bool { return l.capless }, "capabilities could not be dropped"},
	{promiseTerminal, "no terminal of other processes is read or written",
		func(l layers) bool { return l.abi >= 1 }, "needs Landlock"},
	{promiseSetuid, "no program is left behind that gives the rights of this user or group to other users (setuid, setgid)",
		seccompOnly, "needs seccomp"},
}

// missing returns the promises that these layers do not enforce.
func missing(l layers) []string {
	var m []string
	for _, p := range promises {
		if !p.held(l) {
			m = append(m, p.name+": "+p.reason)
		}
	}
	return m
}
