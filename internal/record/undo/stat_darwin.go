package undo

import (
	"syscall"
	"time"
)

func changed(st *syscall.Stat_t) int64 { return st.Ctimespec.Nano() }

// stampNow returns the time, in ns since 1970.
func stampNow() int64 { return time.Now().UnixNano() }

// stampsNames is that of Linux. Nothing is known about the file systems of macOS.
func stampsNames(int) bool { return false }

// born returns the time when the file at a path was created; ok is false if it is not known.
func born(path string) (at time.Time, ok bool) {
	var st syscall.Stat_t
	err := syscall.Lstat(path, &st)
	return time.Unix(st.Birthtimespec.Unix()), err == nil
}
