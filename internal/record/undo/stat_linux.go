package undo

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func changed(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }

// born returns the time when the file at a path was created; ok is false if it is not known.
func born(path string) (at time.Time, ok bool) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)), err == nil && st.Mask&unix.STATX_BTIME != 0
}
