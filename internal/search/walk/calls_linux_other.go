//go:build linux && !amd64 && !arm64

package walk

import (
	"path"

	"golang.org/x/sys/unix"
)

func openat(fd int, name string, flags int, _ bool) (int, error) {
	return unix.Openat(fd, name, flags, 0)
}

func fstatat(fd int, dir, name string, st *unix.Stat_t, flags int, _ bool) error {
	return unix.Fstatat(fd, path.Join(dir, name), st, flags)
}

func fstat(fd int, st *unix.Stat_t, _ bool) error { return unix.Fstat(fd, st) }

func pread(fd int, p []byte, off int64) (int, error) { return unix.Pread(fd, p, off) }
