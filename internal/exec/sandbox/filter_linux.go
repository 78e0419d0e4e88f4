//go:build amd64 || arm64

package sandbox

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// denial is a system call that fails with errno if all tests of its arguments are
// true, or always if there are none.
type denial struct {
	call  uint32
	errno unix.Errno
	tests []test
}

// test examines the low 32 bits of one argument. It is true if the bits under mask
// equal value, or with not, if they differ. The kernel treats the tested arguments
// as int, so their high bits do not matter.
type test struct {
	arg         int
	mask, value uint32
	not         bool
}

// Offsets in struct seccomp_data, and the bit that programs of the x32 ABI set in
// the number of a call.
const (
	offsetCall = 0
	offsetArch = 4
	offsetArgs = 16
	x32Bit     = 0x40000000
)

// assemble returns the filter program. It ends the process on calls of another
// architecture, makes denied calls fail and allows all others. The kernel caches
// the answer for calls whose arguments are not tested, so for those the program's
// length costs nothing.
func assemble(denials []denial) []unix.SockFilter {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		least = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		and   = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		end   = unix.BPF_RET | unix.BPF_K
	)
	fail := func(e unix.Errno) unix.SockFilter {
		return unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(e)}
	}
	program := []unix.SockFilter{
		{Code: load, K: offsetArch},
		{Code: equal, K: auditArch, Jt: 1},
		{Code: end, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: load, K: offsetCall},
	}
	if auditArch == unix.AUDIT_ARCH_X86_64 {
		program = append(program, unix.SockFilter{Code: least, K: x32Bit, Jf: 1}, fail(unix.EPERM))
	}
	for at, d := range denials {
		if len(d.tests) == 0 {
			program = append(program, unix.SockFilter{Code: equal, K: d.call, Jf: 1}, fail(d.errno))
			continue
		}
		// Each test takes three instructions, and the failure one. The next
		// instruction is reached if a test is false. It allows the call if no later
		// denial has the same call. Otherwise it loads the number of the call
		// again, which the tests have overwritten.
		size := uint8(3*len(d.tests) + 1)
		program = append(program, unix.SockFilter{Code: equal, K: d.call, Jf: size + 1})
		for i, t := range d.tests {
			rest := size - uint8(3*(i+1))
			jump := unix.SockFilter{Code: equal, K: t.value, Jf: rest}
			if t.not {
				jump.Jt, jump.Jf = rest, 0
			}
			program = append(program,
				unix.SockFilter{Code: load, K: offsetArgs + 8*uint32(t.arg)}, // the architectures here are little-endian
				unix.SockFilter{Code: and, K: t.mask}, jump)
		}
		last := unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW}
		if slices.ContainsFunc(denials[at+1:], func(o denial) bool { return o.call == d.call }) {
			last = unix.SockFilter{Code: load, K: offsetCall}
		}
		program = append(program, fail(d.errno), last)
	}
	return append(program, unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW})
}

// loadFilter installs the filter permanently. no_new_privs must be set.
func loadFilter(p Policy, l layers) error {
	program := assemble(denials(p, l))
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); e != 0 {
		return e
	}
	return nil
}
