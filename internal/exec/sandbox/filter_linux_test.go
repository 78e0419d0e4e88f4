//go:build amd64 || arm64

package sandbox

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// simulate evaluates a filter for one call as the kernel does.
func simulate(t *testing.T, program []unix.SockFilter, arch, call uint32, args [6]uint64) uint32 {
	t.Helper()
	var a uint32
	for at := 0; at < len(program); at++ {
		i := program[at]
		jump := func(hit bool) {
			if hit {
				at += int(i.Jt)
			} else {
				at += int(i.Jf)
			}
		}
		switch i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			switch {
			case i.K == offsetCall:
				a = call
			case i.K == offsetArch:
				a = arch
			default:
				a = uint32(args[(i.K-offsetArgs)/8] >> ((i.K - offsetArgs) % 8 * 8))
			}
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= i.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(a == i.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump(a >= i.K)
		case unix.BPF_RET | unix.BPF_K:
			return i.K
		default:
			t.Fatalf("instruction %d is %+v", at, i)
		}
	}
	t.Fatal("the filter does not end")
	return 0
}

func TestFilter(t *testing.T) {
	const deny, allow = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM), unix.SECCOMP_RET_ALLOW
	const unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	full := layers{abi: 7, ipc: true}
	for _, c := range []struct {
		name   string
		call   uint32
		args   [6]uint64
		policy [3]uint32 // network denied, network allowed, read-only
	}{
		{"read", unix.SYS_READ, [6]uint64{}, [3]uint32{allow, allow, allow}},
		{"exit_group", unix.SYS_EXIT_GROUP, [6]uint64{}, [3]uint32{allow, allow, allow}},
		{"mount", unix.SYS_MOUNT, [6]uint64{}, [3]uint32{deny, deny, deny}},
		{"fchmod", unix.SYS_FCHMOD, [6]uint64{}, [3]uint32{allow, allow, deny}},
		{"file_setattr", unix.SYS_FILE_SETATTR, [6]uint64{}, [3]uint32{allow, allow, deny}},
		{"ptrace", unix.SYS_PTRACE, [6]uint64{}, [3]uint32{allow, allow, deny}},
		{"shmget", unix.SYS_SHMGET, [6]uint64{}, [3]uint32{allow, allow, deny}},
		{"unix socket", unix.SYS_SOCKET, [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM}, [3]uint32{allow, allow, deny}},
		{"internet socket", unix.SYS_SOCKET, [6]uint64{unix.AF_INET, unix.SOCK_STREAM}, [3]uint32{deny, allow, deny}},
		{"internet 6 socket", unix.SYS_SOCKET, [6]uint64{unix.AF_INET6, unix.SOCK_DGRAM}, [3]uint32{deny, allow, deny}},
		{"high bits", unix.SYS_SOCKET, [6]uint64{1<<32 | unix.AF_INET}, [3]uint32{deny, allow, deny}},
		{"route socket", unix.SYS_SOCKET, [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, [3]uint32{allow, allow, allow}},
		{"audit socket", unix.SYS_SOCKET, [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}, [3]uint32{deny, deny, deny}},
		{"packet socket", unix.SYS_SOCKET, [6]uint64{unix.AF_PACKET}, [3]uint32{deny, deny, deny}},
		{"host's socket", unix.SYS_SOCKET, [6]uint64{unix.AF_VSOCK}, [3]uint32{deny, deny, deny}},
		{"pair", unix.SYS_SOCKETPAIR, [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, [3]uint32{allow, allow, allow}},
		{"datagram pair", unix.SYS_SOCKETPAIR, [6]uint64{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC}, [3]uint32{allow, allow, deny}},
		{"raw pair", unix.SYS_SOCKETPAIR, [6]uint64{unix.AF_UNIX, unix.SOCK_RAW}, [3]uint32{allow, allow, deny}},
		{"fork", unix.SYS_CLONE, [6]uint64{uint64(unix.SIGCHLD)}, [3]uint32{allow, allow, allow}},
		{"thread", unix.SYS_CLONE, [6]uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, [3]uint32{allow, allow, allow}},
		{"new user", unix.SYS_CLONE, [6]uint64{unix.CLONE_NEWUSER | uint64(unix.SIGCHLD)}, [3]uint32{deny, deny, deny}},
		{"new net", unix.SYS_CLONE, [6]uint64{unix.CLONE_NEWNET}, [3]uint32{deny, deny, deny}},
		{"clone3", unix.SYS_CLONE3, [6]uint64{}, [3]uint32{unknown, unknown, unknown}},
		{"memfd", unix.SYS_MEMFD_CREATE, [6]uint64{0, unix.MFD_CLOEXEC}, [3]uint32{unknown, unknown, unknown}},
		{"sealed memfd", unix.SYS_MEMFD_CREATE, [6]uint64{0, mfdNoExec}, [3]uint32{allow, allow, allow}},
		{"typing", unix.SYS_IOCTL, [6]uint64{0, unix.TIOCSTI}, [3]uint32{deny, deny, deny}},
		{"size of a terminal", unix.SYS_IOCTL, [6]uint64{0, unix.TIOCGWINSZ}, [3]uint32{allow, allow, allow}},
		{"flags of a file", unix.SYS_IOCTL, [6]uint64{0, unix.FS_IOC_SETFLAGS}, [3]uint32{allow, allow, deny}},
		{"mode", unix.SYS_FCHMOD, [6]uint64{3, 0o1777}, [3]uint32{allow, allow, deny}},
		{"setuid", unix.SYS_FCHMOD, [6]uint64{3, 0o4755}, [3]uint32{deny, deny, deny}},
		{"setgid", unix.SYS_FCHMODAT, [6]uint64{3, 0, 0o2755}, [3]uint32{deny, deny, deny}},
		{"setuid by link", unix.SYS_FCHMODAT2, [6]uint64{3, 0, 0o6755, unix.AT_EMPTY_PATH}, [3]uint32{deny, deny, deny}},
		{"new file", unix.SYS_OPENAT, [6]uint64{3, 0, unix.O_CREAT, 0o644}, [3]uint32{allow, allow, allow}},
		{"new setuid file", unix.SYS_OPENAT, [6]uint64{3, 0, unix.O_CREAT | unix.O_WRONLY, 0o4755}, [3]uint32{deny, deny, deny}},
		{"new setgid file without a name", unix.SYS_OPENAT, [6]uint64{3, 0, unix.O_TMPFILE | unix.O_WRONLY, 0o2755}, [3]uint32{deny, deny, deny}},
		{"open with a stray argument", unix.SYS_OPENAT, [6]uint64{3, 0, unix.O_DIRECTORY, 0o6755}, [3]uint32{allow, allow, allow}},
		{"openat2", unix.SYS_OPENAT2, [6]uint64{}, [3]uint32{unknown, unknown, unknown}},
		{"fifo", unix.SYS_MKNODAT, [6]uint64{3, 0, unix.S_IFIFO | 0o644}, [3]uint32{allow, allow, allow}},
		{"setuid file by mknod", unix.SYS_MKNODAT, [6]uint64{3, 0, unix.S_IFREG | 0o4755}, [3]uint32{deny, deny, deny}},
		{"own limit", unix.SYS_PRLIMIT64, [6]uint64{0, 1, 1}, [3]uint32{allow, allow, allow}},
		{"limit of another", unix.SYS_PRLIMIT64, [6]uint64{7, 1, 1 << 32}, [3]uint32{allow, allow, deny}},
	} {
		for i, p := range []Policy{{}, {Network: true}, {ReadOnly: true, Network: true}} {
			if got := simulate(t, assemble(denials(p, full)), auditArch, c.call, c.args); got != c.policy[i] {
				t.Errorf("%s: %#x, want %#x (%+v)", c.name, got, c.policy[i], p)
			}
		}
	}
	// Calls that exist on one architecture only.
	for _, c := range oldModes {
		var args [6]uint64
		if c.flags != 0 {
			args[c.flags] = unix.O_CREAT
		}
		for mode, want := range map[uint64]uint32{0o4755: deny, 0o2755: deny, 0o1755: allow} {
			args[c.mode] = mode
			if got := simulate(t, assemble(denials(Policy{}, full)), auditArch, c.call, args); got != want {
				t.Errorf("call %d, mode %o: %#x, want %#x", c.call, mode, got, want)
			}
		}
	}
	// Without other layers, more calls are denied.
	for call, want := range map[uint32]uint32{unix.SYS_PTRACE: deny, unix.SYS_SHMGET: deny, unix.SYS_CHDIR: allow} {
		if got := simulate(t, assemble(denials(Policy{}, layers{})), auditArch, call, [6]uint64{}); got != want {
			t.Errorf("call %d: %#x, want %#x", call, got, want)
		}
	}
	for _, call := range slices.Concat(oldMetadata, oldSystem) {
		if got := simulate(t, assemble(denials(Policy{ReadOnly: true}, full)), auditArch, call, [6]uint64{}); got != deny {
			t.Errorf("call %d: %#x", call, got)
		}
	}
	program := assemble(denials(Policy{}, full))
	if got := simulate(t, program, unix.AUDIT_ARCH_I386, 0, [6]uint64{}); got != unix.SECCOMP_RET_KILL_PROCESS {
		t.Errorf("another architecture: %#x", got)
	}
	if auditArch == unix.AUDIT_ARCH_X86_64 {
		if got := simulate(t, program, auditArch, x32Bit|unix.SYS_READ, [6]uint64{}); got != deny {
			t.Errorf("x32: %#x", got)
		}
	}
	if n := len(assemble(denials(Policy{ReadOnly: true}, layers{}))); n > unix.BPF_MAXINSNS {
		t.Errorf("%d instructions", n)
	}
}

// TestDenialsAreOnce checks that each denied call is in the filter once, except for
// calls judged by their arguments.
func TestDenialsAreOnce(t *testing.T) {
	var seen []uint32
	for _, d := range denials(Policy{ReadOnly: true}, layers{}) {
		if len(d.tests) > 0 {
			continue
		}
		if slices.Contains(seen, d.call) {
			t.Errorf("call %d is there twice", d.call)
		}
		seen = append(seen, d.call)
	}
}
