package walk

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// stampsReliable reports that a folder's stamps show every change of its entries.
const stampsReliable = true

// folder is an open folder.
type folder struct {
	fd         int
	unnotified bool // calls do not notify the scheduler: see Pace
}

// withoutNotify returns the same folder. If on, the scheduler is not notified of looking at its
// entries, of opening them, and of looking at them while they are open.
func (f folder) withoutNotify(on bool) folder {
	f.unnotified = on
	return f
}

// topFolder returns the folder that file has open. file must stay open.
func topFolder(file *os.File) (folder, error) { return folder{fd: int(file.Fd())}, nil }

// descriptor returns the descriptor of the folder.
func (f folder) descriptor() int { return f.fd }

func (f folder) closeTop() {}

func (f folder) close() { unix.Close(f.fd) }

// enter opens a folder below to reach its entries, without following links. It needs
// only the right to search the folder.
func (f folder) enter(rel string) (folder, error) { return f.dir(rel, unix.O_PATH) }

// read opens a folder below to list it, without following links.
func (f folder) read(rel string) (folder, error) { return f.dir(rel, unix.O_RDONLY|unix.O_NONBLOCK) }

func (f folder) dir(rel string, flags int) (folder, error) {
	fd, err := f.openat(rel, flags|unix.O_DIRECTORY)
	if err != nil {
		return folder{}, err
	}
	return folder{fd: fd}, nil
}

// noOpenat2 is set once openat2 is missing in the kernel (before 5.6) or a sandbox.
var noOpenat2 atomic.Bool

// openat opens an entry below f without following any link on the way.
func (f folder) openat(rel string, flags int) (int, error) {
	if rel == "" {
		rel = "."
	}
	flags |= unix.O_NOFOLLOW | unix.O_CLOEXEC
	if strings.IndexByte(rel, '/') < 0 {
		return retry(func() (int, error) { return openat(f.fd, rel, flags, f.unnotified) })
	}
	if !noOpenat2.Load() {
		how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
		fd, err := retry(func() (int, error) { return unix.Openat2(f.fd, rel, &how) })
		switch err {
		case unix.ENOSYS, unix.EPERM: // some seccomp filters return EPERM
			noOpenat2.Store(true)
		case unix.EAGAIN: // something was renamed meanwhile
		default:
			return fd, err
		}
	}
	return f.stepwise(rel, flags)
}

// stepwise opens one folder after the other.
func (f folder) stepwise(rel string, flags int) (int, error) {
	dir, name := path.Split(rel)
	at := f.fd
	for step := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		next, err := retry(func() (int, error) {
			return unix.Openat(at, step, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		})
		if at != f.fd {
			unix.Close(at)
		}
		if err != nil {
			return -1, err
		}
		at = next
	}
	defer unix.Close(at)
	return retry(func() (int, error) { return unix.Openat(at, name, flags, 0) })
}

// retry repeats a call that a signal interrupts. With network and FUSE file systems
// that can happen to any call.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

// statFlags are the flags of fstatat.
const statFlags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT

// stat looks at the entry called name in dir, a path relative to f. Either may be "".
// It follows links except in the last element.
func (f folder) stat(dir, name string) (Stamp, kind, error) {
	if dir == "" && name == "" {
		name = "."
	}
	var st unix.Stat_t
	for {
		err := fstatat(f.fd, dir, name, &st, statFlags, f.unnotified)
		if err == nil {
			return stampOf(&st), kindOf(st.Mode), nil
		}
		if err != unix.EINTR {
			return Stamp{}, 0, err
		}
	}
}

// stamp looks at the folder itself, which needs no rights.
func (f folder) stamp() (Stamp, error) {
	var st unix.Stat_t
	err := unix.Fstat(f.fd, &st)
	return stampOf(&st), err
}

func stampOf(st *unix.Stat_t) Stamp {
	return Stamp{
		Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size,
		Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
		Links: uint32(st.Nlink),
	}
}

func kindOf(mode uint32) kind {
	switch mode & unix.S_IFMT {
	case 0: // only in a listing
		return kindUnknown
	case unix.S_IFREG:
		return kindFile
	case unix.S_IFDIR:
		return kindDir
	case unix.S_IFLNK:
		return kindLink
	}
	return kindSpecial
}

// The offsets in struct linux_dirent64 of the length of the record, the type and the
// name: see getdents64(2). The inode is at 0.
const (
	direntLen  = 16
	direntType = 18
	direntName = 19
)

// entries adds all entries of the folder to e.
func (f folder) entries(ctx context.Context, e *entries) error {
	for {
		e.post.enter(e.at)
		n, err := retry(func() (int, error) { return unix.Getdents(f.fd, e.buf) })
		if err != nil || n <= 0 {
			return err
		}
		for rest := e.buf[:n]; len(rest) > direntName; {
			size := int(binary.NativeEndian.Uint16(rest[direntLen:]))
			if size <= direntName || size > len(rest) {
				return unix.EIO
			}
			record := rest[:size]
			rest = rest[size:]
			name := record[direntName:]
			for i, c := range name {
				if c == 0 {
					name = name[:i]
					break
				}
			}
			e.add(name, binary.NativeEndian.Uint64(record), kindOf(uint32(record[direntType])<<12))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// Handle is an open regular file.
type Handle struct {
	fd         int
	unnotified bool // copied from its folder
}

var errNotRegular = errors.New("not a regular file")

// open opens a regular file below f for reading. It does not follow links, and does not
// wait for the other end of a FIFO.
func (f folder) open(rel string) (Handle, error) {
	fd, err := f.openat(rel, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	return Handle{fd, f.unnotified}, err
}

// Stamp returns the state of the file, or an error if the file is not regular.
func (h Handle) Stamp() (Stamp, error) {
	var st unix.Stat_t
	if err := fstat(h.fd, &st, h.unnotified); err != nil {
		return Stamp{}, err
	}
	if kindOf(st.Mode) != kindFile {
		return Stamp{}, errNotRegular
	}
	return stampOf(&st), nil
}

// Read reads the next bytes, as [io.Reader] does.
func (h Handle) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return h.result(retry(func() (int, error) { return unix.Read(h.fd, p) }))
}

// ReadAt reads at an offset. Unlike [io.ReaderAt], it may return fewer bytes than
// requested without an error. At the end it returns io.EOF.
func (h Handle) ReadAt(p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return h.result(retry(func() (int, error) { return pread(h.fd, p, off) }))
}

func (h Handle) result(n int, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close closes the file.
func (h Handle) Close() error { return unix.Close(h.fd) } // notifies the scheduler: the last close of a deleted file takes long
