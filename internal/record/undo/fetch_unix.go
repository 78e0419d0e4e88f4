//go:build linux || darwin

package undo

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"mcp-toolset/internal/file/workspace"
)

// fetcher reads files and links below the roots. It holds the folder of the last one open, since
// most are beside each other. It is not safe for concurrent use.
type fetcher struct {
	roots  []string
	folder string
	fd     int // of folder, if that is not ""
	buffer []byte
}

func (f *fetcher) close() {
	if f.folder != "" {
		unix.Close(f.fd)
		f.folder = ""
	}
}

// enter opens a folder name by name from its root, so that no link leads elsewhere.
func (f *fetcher) enter(folder string) error {
	if f.folder == folder {
		return nil
	}
	f.close()
	root := workspace.Containing(f.roots, folder)
	if root == "" {
		return unix.ENOENT
	}
	fd, err := openat(unix.AT_FDCWD, root)
	for name := range strings.SplitSeq(strings.TrimPrefix(folder, root), string(filepath.Separator)) {
		if err != nil || name == "" {
			continue
		}
		parent := fd
		fd, err = openat(parent, name)
		unix.Close(parent)
	}
	if err == nil {
		f.folder, f.fd = folder, fd
	}
	return err
}

// file returns the content of the file at a path if it has the stamp before and after reading. The
// content is valid until the next call.
func (f *fetcher) file(path string, want stamp) ([]byte, bool) {
	name := filepath.Base(path)
	if f.enter(filepath.Dir(path)) != nil || !f.is(name, want) {
		return nil, false
	}
	fd, err := unix.Openat(f.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	for err == unix.EINTR {
		fd, err = unix.Openat(f.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, false
	}
	defer unix.Close(fd)
	if int64(cap(f.buffer)) < want.Size {
		f.buffer = make([]byte, want.Size, max(want.Size, 64<<10))
	}
	data := f.buffer[:want.Size]
	for read, blocking := 0, false; read < len(data); {
		n, err := unix.Read(fd, data[read:])
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN && !blocking: // from some network file systems
			_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, 0)
			blocking = true
		case err != nil || n == 0:
			return nil, false
		default:
			read += n
		}
	}
	var st unix.Stat_t
	var now stamp
	if unix.Fstat(fd, &st) != nil {
		return nil, false
	}
	now.from(&st)
	return data, now == want
}

// link returns the target of the link at a path if it has the stamp before and after reading.
func (f *fetcher) link(path string, want stamp) (target string, ok bool) {
	name := filepath.Base(path)
	if f.enter(filepath.Dir(path)) != nil || !f.is(name, want) {
		return "", false
	}
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(f.fd, name, buffer)
	return string(buffer[:max(n, 0)]), err == nil && n < len(buffer) && f.is(name, want)
}

// is reports whether a name in the folder has a stamp.
func (f *fetcher) is(name string, want stamp) bool {
	var st unix.Stat_t
	if unix.Fstatat(f.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false
	}
	var now stamp
	now.from(&st)
	return now == want
}
