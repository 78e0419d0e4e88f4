package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// threads makes system calls that concern one thread only, on all of them or
// on the calling one.
type threads struct{ all bool }

func (t threads) call(nr, a, b, c uintptr) error {
	var e unix.Errno
	if t.all {
		_, _, e = psx.Syscall3(nr, a, b, c)
	} else {
		_, _, e = unix.RawSyscall(nr, a, b, c)
	}
	if e != 0 {
		return e
	}
	return nil
}

func (t threads) prctl(option int, arg uintptr) error {
	var e unix.Errno
	if t.all {
		_, _, e = psx.Syscall6(unix.SYS_PRCTL, uintptr(option), arg, 0, 0, 0, 0)
	} else {
		_, _, e = unix.RawSyscall6(unix.SYS_PRCTL, uintptr(option), arg, 0, 0, 0, 0)
	}
	if e != 0 {
		return e
	}
	return nil
}

// capset sets the three sets of capabilities of threads.
func (t threads) capset(set uint64) error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	low, high := uint32(set), uint32(set>>32)
	data := [2]unix.CapUserData{{Effective: low, Permitted: low}, {Effective: high, Permitted: high}}
	return t.call(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&data[0])), 0)
}
