package search

import (
	"os"

	"golang.org/x/sys/unix"
)

// nonblock keeps opening from waiting, should the file have become a FIFO.
const nonblock = unix.O_NONBLOCK

// local are the file systems whose stamps tell of every change at once. On the
// others (network, FUSE, /proc) stamps are cached or mean nothing. FAT has ticks
// of two seconds and no ctime.
var local = map[int64]bool{
	unix.EXT4_SUPER_MAGIC: true, // and ext2, ext3
	unix.XFS_SUPER_MAGIC:  true, unix.BTRFS_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true, unix.RAMFS_MAGIC: true,
	unix.OVERLAYFS_SUPER_MAGIC: true, unix.F2FS_SUPER_MAGIC: true, unix.SQUASHFS_MAGIC: true,
	unix.EROFS_SUPER_MAGIC_V1: true, 0x2fc12fc1: true, // ZFS
	0xca451a4e: true, // bcachefs
}

// trusted reports whether the stamps of the files in a folder can be relied on,
// and the device they are on.
func trusted(dir *os.File) (ok bool, dev uint64) {
	conn, err := dir.SyscallConn()
	if err != nil {
		return false, 0
	}
	_ = conn.Control(func(fd uintptr) {
		var fs unix.Statfs_t
		var st unix.Stat_t
		if unix.Fstatfs(int(fd), &fs) == nil && unix.Fstat(int(fd), &st) == nil {
			ok, dev = local[int64(fs.Type)], st.Dev
		}
	})
	return ok, dev
}
