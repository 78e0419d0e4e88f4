package gitfront

import "golang.org/x/sys/unix"

// apart reports whether two paths are on different mounts, between which rename fails.
func apart(a, b string) bool {
	var one, two unix.Statx_t
	return unix.Statx(unix.AT_FDCWD, a, 0, unix.STATX_MNT_ID, &one) == nil &&
		unix.Statx(unix.AT_FDCWD, b, 0, unix.STATX_MNT_ID, &two) == nil && one.Mnt_id != two.Mnt_id
}
