package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// retainedCapabilities returns the capabilities that FileRights retains, as a bit set.
func (p Policy) retainedCapabilities(contained bool) uint64 {
	if !p.FileRights || !contained || os.Getuid() != 0 {
		return 0
	}
	if p.ReadOnly {
		return 1 << unix.CAP_DAC_READ_SEARCH
	}
	return 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER
}

// dropCapabilities drops all capabilities but those in keep, permanently. With
// no_new_privs set, no program can regain any. Where permitted, it empties the
// bounding set too, as a second safeguard.
func dropCapabilities(keep uint64) error {
	if hasCapability(unix.CAP_SETPCAP) {
		for c := uintptr(0); c <= 63; c++ {
			if keep&(1<<c) != 0 {
				continue
			}
			// An error of the first call means that the kernel has no more
			// capabilities.
			if on, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0); err != nil {
				break
			} else if on == 0 {
				continue
			}
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
				return fmt.Errorf("dropping capability %d: %w", c, err)
			}
		}
	}
	if err := capset(keep & effective()); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	return nil
}

// capset sets the capability sets of this thread.
func capset(set uint64) error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	low, high := uint32(set), uint32(set>>32)
	data := [2]unix.CapUserData{{Effective: low, Permitted: low}, {Effective: high, Permitted: high}}
	return unix.Capset(&head, &data[0])
}

// effective returns the effective capabilities.
func effective() uint64 {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&head, &data[0]) != nil {
		return 0
	}
	return uint64(data[1].Effective)<<32 | uint64(data[0].Effective)
}

func hasCapability(capability int) bool { return effective()&(1<<capability) != 0 }
