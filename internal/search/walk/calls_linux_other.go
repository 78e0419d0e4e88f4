//go:build linux && !amd64 && !arm64

package walk

import "golang.org/x/sys/unix"

func openat(fd int, name string, flags int) (int, error) { return unix.Openat(fd, name, flags, 0) }

func fstatat(fd int, name string, st *unix.Stat_t, flags int) error {
	return unix.Fstatat(fd, name, st, flags)
}

func pread(fd int, p []byte, off int64) (int, error) { return unix.Pread(fd, p, off) }
