//go:build unix

package sandbox

import (
	"path/filepath"

	"golang.org/x/sys/unix"
)

// may reports whether the file permissions allow this process to read or write a
// file. For an absent file and write, it reports whether the file may be created.
func may(path string, write bool) bool {
	if write {
		if exists(path) {
			return unix.Access(path, unix.W_OK) == nil
		}
		return unix.Access(filepath.Dir(path), unix.W_OK|unix.X_OK) == nil
	}
	return unix.Access(path, unix.R_OK) == nil
}

// owned reports whether this user owns a file, and so may change its mode.
func owned(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && int(st.Uid) == unix.Geteuid()
}

func exists(path string) bool { return unix.Access(path, unix.F_OK) == nil }
