package undo

import (
	"syscall"
	"time"
)

func changed(st *syscall.Stat_t) int64 { return st.Ctimespec.Nano() }

// born returns the time when the file at a path was created; ok is false if it is not known.
func born(path string) (at time.Time, ok bool) {
	var st syscall.Stat_t
	err := syscall.Lstat(path, &st)
	return time.Unix(st.Birthtimespec.Unix()), err == nil
}
