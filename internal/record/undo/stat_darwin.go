package undo

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func changed(st *syscall.Stat_t) int64 { return st.Ctimespec.Nano() }

// stampNow returns the time, in ns since 1970.
func stampNow() int64 { return time.Now().UnixNano() }

// stamps is that of Linux. Of the file systems of macOS, it only knows that FAT and exFAT have no time of
// change that programs cannot set.
func stamps(fd int) (names, files bool) {
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return false, false
	}
	kind := unix.ByteSliceToString(st.Fstypename[:])
	return false, kind != "msdos" && kind != "exfat"
}

// born returns the time when the file at a path was created; ok is false if it is not known.
func born(path string) (at time.Time, ok bool) {
	var st syscall.Stat_t
	err := syscall.Lstat(path, &st)
	return time.Unix(st.Birthtimespec.Unix()), err == nil
}
