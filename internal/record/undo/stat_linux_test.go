package undo

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestStamps checks on which file systems changes of commands are recorded, and names are used again.
func TestStamps(t *testing.T) {
	for kind, want := range map[int64][2]bool{
		unix.EXT4_SUPER_MAGIC: {true, true}, unix.NFS_SUPER_MAGIC: {false, true}, unix.FUSE_SUPER_MAGIC: {false, true},
		unix.OVERLAYFS_SUPER_MAGIC: {false, true}, unix.MSDOS_SUPER_MAGIC: {false, false}, unix.EXFAT_SUPER_MAGIC: {false, false},
	} {
		if names, files := stampsOf(kind); [2]bool{names, files} != want {
			t.Errorf("%#x: %v, %v", kind, names, files)
		}
	}
}
