package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// Calls that this architecture has beside the common ones: none.
var (
	oldMetadata, oldSystem []uint32
	oldModes               []modeCall
)
