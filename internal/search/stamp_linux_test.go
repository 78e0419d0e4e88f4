package search

import (
	"os"

	"golang.org/x/sys/unix"
)

// ctime returns the time of the last change of a file, or 0 if it is not known.
func ctime(dir *os.File, name string) int64 {
	var st unix.Stat_t
	if unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return 0
	}
	return st.Ctim.Nano()
}
