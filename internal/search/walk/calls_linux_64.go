//go:build linux && (amd64 || arm64)

package walk

import (
	"bytes"
	"path"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls that are made once for each file, without the garbage of their
// counterparts in package unix.

// pathBytes is the room for a path with its NUL: a name of NAME_MAX in a folder
// whose path is about as long. Longer ones leave garbage.
const pathBytes = 512

// cPath writes the path of name in dir, either of which may be "", as the system
// takes it; false: it has no room or no such form.
func cPath(buf *[pathBytes]byte, dir, name string) bool {
	if len(dir)+1+len(name) >= pathBytes {
		return false
	}
	n := copy(buf[:], dir)
	if dir != "" && name != "" {
		buf[n] = '/'
		n++
	}
	n += copy(buf[n:], name)
	buf[n] = 0
	return bytes.IndexByte(buf[:n], 0) < 0
}

// openat is unix.Openat of what is there. If untold, the scheduler is not told.
func openat(fd int, name string, flags int, untold bool) (int, error) {
	var buf [pathBytes]byte
	if !cPath(&buf, "", name) {
		return unix.Openat(fd, name, flags, 0)
	}
	var n uintptr
	var e unix.Errno
	if untold {
		n, _, e = unix.RawSyscall6(unix.SYS_OPENAT, uintptr(fd), uintptr(unsafe.Pointer(&buf)), uintptr(flags), 0, 0, 0)
	} else {
		n, _, e = unix.Syscall6(unix.SYS_OPENAT, uintptr(fd), uintptr(unsafe.Pointer(&buf)), uintptr(flags), 0, 0, 0)
	}
	if e != 0 {
		return -1, e
	}
	return int(n), nil
}

// fstatat is unix.Fstatat of what is called name in dir.
func fstatat(fd int, dir, name string, st *unix.Stat_t, flags int, untold bool) error {
	var buf [pathBytes]byte
	if !cPath(&buf, dir, name) {
		return unix.Fstatat(fd, path.Join(dir, name), st, flags)
	}
	if e := statPath(fd, &buf, st, flags, untold); e != 0 {
		return e
	}
	return nil
}

// statPath is fstatat of a path that ends with a NUL.
func statPath(fd int, path *[pathBytes]byte, st *unix.Stat_t, flags int, untold bool) (e unix.Errno) {
	if untold {
		_, _, e = unix.RawSyscall6(unix.SYS_NEWFSTATAT, uintptr(fd), uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(st)), uintptr(flags), 0, 0)
	} else {
		_, _, e = unix.Syscall6(unix.SYS_NEWFSTATAT, uintptr(fd), uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(st)), uintptr(flags), 0, 0)
	}
	return e
}

// A row looks at files of one folder, one after the other. What is the same for all
// of them is written once.
type row struct {
	folder folder
	dir    string
	prefix int // bytes of dir and a slash in path; -1: it has no room for them
	path   [pathBytes]byte
	st     unix.Stat_t
}

// begin has the files of dir, a path from f, looked at.
func (r *row) begin(f folder, dir string) {
	r.folder, r.dir, r.prefix = f, dir, 0
	switch {
	case len(dir) >= pathBytes:
		r.prefix = -1
	case dir != "":
		r.prefix = copy(r.path[:], dir) + 1
		r.path[r.prefix-1] = '/'
	}
}

// stat sets s to the stamp of a regular file that was listed, if it is there.
func (r *row) stat(name string, s *Stamp) {
	n := r.prefix + len(name)
	if r.prefix < 0 || n >= pathBytes {
		r.folder.regular(r.dir, name, s)
		return
	}
	copy(r.path[r.prefix:], name) // it has no NUL, having been listed
	r.path[n] = 0
	switch e := statPath(r.folder.fd, &r.path, &r.st, statFlags, r.folder.untold); {
	case e == unix.EINTR:
		r.folder.regular(r.dir, name, s)
	case e == 0 && r.st.Mode&unix.S_IFMT == unix.S_IFREG:
		*s = stampOf(&r.st)
	}
}

// fstat is unix.Fstat.
func fstat(fd int, st *unix.Stat_t, untold bool) error {
	if !untold {
		return unix.Fstat(fd, st)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_FSTAT, uintptr(fd), uintptr(unsafe.Pointer(st)), 0); e != 0 {
		return e
	}
	return nil
}

// atOnce is how much is read at most without telling the scheduler, in bytes:
// some 50 µs, for which the garbage collector may have to wait.
const atOnce = 512 << 10

// pread is unix.Pread of at least one byte, and may give fewer than there are.
// What is in memory already is copied without telling the scheduler: that takes
// a call of more than 20 µs for one that waits, and starts another thread.
func pread(fd int, p []byte, off int64) (int, error) {
	v := unix.Iovec{Base: &p[0], Len: uint64(min(len(p), atOnce))}
	n, _, e := unix.RawSyscall6(unix.SYS_PREADV2, uintptr(fd), uintptr(unsafe.Pointer(&v)), 1, uintptr(off), 0, unix.RWF_NOWAIT)
	if e == 0 && n > 0 {
		return int(n), nil
	}
	// It is not in memory, cannot be asked for so, or is the end: Linux 5.9 and
	// 5.10 say 0 elsewhere, too.
	return unix.Pread(fd, p, off)
}
