package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// Additional system calls of this architecture.
var (
	oldMetadata = []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
	oldSystem   = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS__SYSCTL,
		unix.SYS_CREATE_MODULE, unix.SYS_QUERY_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_USTAT, unix.SYS_SYSFS}
	oldModes = []modeCall{
		{call: unix.SYS_OPEN, mode: 2, flags: 1}, {call: unix.SYS_CREAT, mode: 1}, {call: unix.SYS_CHMOD, mode: 1}, {call: unix.SYS_MKNOD, mode: 1},
	}
)
