package undo

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func changed(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }

// stampNow returns the time, in ns since 1970, by the clock with which the kernel stamps files. It may
// stand still for seconds while others go on, on a virtual machine that lacks processors.
func stampNow() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil {
		return 0 // everything is young
	}
	return now.Nano()
}

// stamps reports on the file system of an open folder: whether each change of the names in a folder
// changes the stamp of the folder, and whether each change of a file changes that of the file.
func stamps(fd int) (names, files bool) {
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return false, false
	}
	return stampsOf(int64(st.Type))
}

// stampsOf is stamps for a type of file systems. Those that are local stamp folders; others may have
// names from elsewhere. FAT and exFAT have no time of change that programs cannot set.
func stampsOf(kind int64) (names, files bool) {
	switch kind {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.F2FS_SUPER_MAGIC: // the first is also that of ext2 and ext3
		return true, true
	case unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC:
		return false, false
	}
	return false, true
}

// born returns the time when the file at a path was created; ok is false if it is not known.
func born(path string) (at time.Time, ok bool) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)), err == nil && st.Mask&unix.STATX_BTIME != 0
}
