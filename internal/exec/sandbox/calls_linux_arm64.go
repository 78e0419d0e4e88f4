package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// Additional system calls of this architecture: none.
var (
	oldMetadata, oldSystem []uint32
	oldModes               []modeCall
)
