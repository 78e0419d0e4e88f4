package walk

import (
	"os"

	"golang.org/x/sys/unix"
)

// local lists the file systems whose stamps show every change at once. On the others
// (network, FUSE, /proc) stamps are cached or meaningless. FAT has ticks of two seconds
// and no ctime.
var local = map[int64]bool{
	unix.EXT4_SUPER_MAGIC: true, // and ext2, ext3
	unix.XFS_SUPER_MAGIC:  true, unix.BTRFS_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true, unix.RAMFS_MAGIC: true,
	unix.OVERLAYFS_SUPER_MAGIC: true, unix.F2FS_SUPER_MAGIC: true, unix.SQUASHFS_MAGIC: true,
	unix.EROFS_SUPER_MAGIC_V1: true, 0x2fc12fc1: true, // ZFS
	0xca451a4e: true, // bcachefs
}

// hasReliableStamps reports whether the stamps on the folder's file system are reliable.
func hasReliableStamps(f folder) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(f.fd, &fs) == nil && local[int64(fs.Type)]
}

// HasReliableStamps reports whether the stamps of the files in a folder show every change at once,
// and returns their device.
func HasReliableStamps(dir *os.File) (ok bool, dev uint64) {
	conn, err := dir.SyscallConn()
	if err != nil {
		return false, 0
	}
	_ = conn.Control(func(fd uintptr) {
		if s, err := (folder{fd: int(fd)}).stamp(); err == nil {
			ok, dev = hasReliableStamps(folder{fd: int(fd)}), s.Dev
		}
	})
	return ok, dev
}
