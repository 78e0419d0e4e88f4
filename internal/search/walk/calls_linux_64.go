//go:build linux && (amd64 || arm64)

package walk

import (
	"bytes"
	"path"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The functions below replace those of package unix for the calls made once per file.
// They do not allocate.

// pathBytes is the size of the buffer for a path with its NUL: a name of NAME_MAX in a
// folder whose path is about as long. Longer paths are allocated.
const pathBytes = 512

// cPath writes the path of name in dir to buf, terminated by a NUL. Either may be "".
// It returns false if the path is too long or contains a NUL.
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

// openat is unix.Openat without creation. If unnotified, it does not notify the scheduler.
func openat(fd int, name string, flags int, unnotified bool) (int, error) {
	var buf [pathBytes]byte
	if !cPath(&buf, "", name) {
		return unix.Openat(fd, name, flags, 0)
	}
	var n uintptr
	var e unix.Errno
	if unnotified {
		n, _, e = unix.RawSyscall6(unix.SYS_OPENAT, uintptr(fd), uintptr(unsafe.Pointer(&buf)), uintptr(flags), 0, 0, 0)
	} else {
		n, _, e = unix.Syscall6(unix.SYS_OPENAT, uintptr(fd), uintptr(unsafe.Pointer(&buf)), uintptr(flags), 0, 0, 0)
	}
	if e != 0 {
		return -1, e
	}
	return int(n), nil
}

// fstatat is unix.Fstatat of the entry called name in dir.
func fstatat(fd int, dir, name string, st *unix.Stat_t, flags int, unnotified bool) error {
	var buf [pathBytes]byte
	if !cPath(&buf, dir, name) {
		return unix.Fstatat(fd, path.Join(dir, name), st, flags)
	}
	if e := statPath(fd, &buf, st, flags, unnotified); e != 0 {
		return e
	}
	return nil
}

// statPath is fstatat of a path that ends with a NUL.
func statPath(fd int, path *[pathBytes]byte, st *unix.Stat_t, flags int, unnotified bool) (e unix.Errno) {
	if unnotified {
		_, _, e = unix.RawSyscall6(unix.SYS_NEWFSTATAT, uintptr(fd), uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(st)), uintptr(flags), 0, 0)
	} else {
		_, _, e = unix.Syscall6(unix.SYS_NEWFSTATAT, uintptr(fd), uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(st)), uintptr(flags), 0, 0)
	}
	return e
}

// row looks at files of one folder, one after the other. It writes the part that their
// paths share only once.
type row struct {
	folder folder
	dir    string
	prefix int // bytes of dir and a slash in path; -1 if they do not fit
	path   [pathBytes]byte
	st     unix.Stat_t
}

// begin prepares r for the files of dir, a path relative to f.
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

// stat sets s to the stamp of a listed regular file, if it exists.
func (r *row) stat(name string, s *Stamp) {
	n := r.prefix + len(name)
	if r.prefix < 0 || n >= pathBytes {
		r.folder.regular(r.dir, name, s)
		return
	}
	copy(r.path[r.prefix:], name) // a listed name contains no NUL
	r.path[n] = 0
	switch e := statPath(r.folder.fd, &r.path, &r.st, statFlags, r.folder.unnotified); {
	case e == unix.EINTR:
		r.folder.regular(r.dir, name, s)
	case e == 0 && r.st.Mode&unix.S_IFMT == unix.S_IFREG:
		*s = stampOf(&r.st)
	}
}

// fstat is unix.Fstat.
func fstat(fd int, st *unix.Stat_t, unnotified bool) error {
	if !unnotified {
		return unix.Fstat(fd, st)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_FSTAT, uintptr(fd), uintptr(unsafe.Pointer(st)), 0); e != 0 {
		return e
	}
	return nil
}

// atOnce is the limit of bytes read without notifying the scheduler: about 50 µs, for
// which the garbage collector may have to wait.
const atOnce = 512 << 10

// pread is unix.Pread for at least one byte. It may return fewer bytes than there are.
// It copies data that is in memory without notifying the scheduler, which considers a
// call of more than 20 µs blocked and starts another thread.
func pread(fd int, p []byte, off int64) (int, error) {
	v := unix.Iovec{Base: &p[0], Len: uint64(min(len(p), atOnce))}
	n, _, e := unix.RawSyscall6(unix.SYS_PREADV2, uintptr(fd), uintptr(unsafe.Pointer(&v)), 1, uintptr(off), 0, unix.RWF_NOWAIT)
	if e == 0 && n > 0 {
		return int(n), nil
	}
	// The data is not in memory, the file system lacks RWF_NOWAIT, or this is the end:
	// Linux 5.9 and 5.10 return 0 in other cases too.
	return unix.Pread(fd, p, off)
}
