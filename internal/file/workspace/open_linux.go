package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	lookFlags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	readFlags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC | unix.O_LARGEFILE
)

// kernel opens a path with one openat2 call, which follows no link anywhere in it.
type kernel struct{ roots *Roots }

// newOpener tests once whether openat2 works. Old kernels lack it, and containers may
// block it with any of several errors, so it treats every error as "not available".
func newOpener(r *Roots) opener {
	fd, err := openat2(separator, lookFlags)
	if err != nil {
		return walk{r}
	}
	unix.Close(fd)
	return kernel{r}
}

func (kernel) open(canonical string, fits func(fs.FileInfo) error) (*os.File, error) {
	info, err := look(canonical)
	if err != nil {
		return nil, err
	}
	if err := fits(info); err != nil {
		return nil, err
	}
	fd, err := openat2(canonical, readFlags)
	if err != nil {
		return nil, err
	}
	// O_NONBLOCK was only for opening. If it stayed set, os.File would try to poll the
	// file, and some network file systems would answer reads with EAGAIN.
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, 0); err != nil {
		unix.Close(fd)
		return nil, err
	}
	file := os.NewFile(uintptr(fd), canonical)
	if info, err = file.Stat(); err == nil {
		err = fits(info)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// folder opens the directory at the canonical path. Only this directory must be
// readable. An os.Root can only be opened by path, so folder uses the descriptor's name
// in /proc. If /proc is not mounted, it walks the path.
func (k kernel) folder(canonical string) (*os.Root, error) {
	fd, err := openat2(canonical, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if err != nil {
		return nil, err
	}
	held := os.NewFile(uintptr(fd), canonical)
	defer held.Close()
	dir, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd))
	if errors.Is(err, fs.ErrNotExist) {
		return walk(k).folder(canonical)
	}
	if err != nil {
		return nil, err
	}
	want, err1 := held.Stat()
	got, err2 := dir.Stat(".")
	if err := errors.Join(err1, err2); err != nil || !os.SameFile(want, got) {
		dir.Close()
		return walk(k).folder(canonical)
	}
	return dir, nil
}

// look returns the FileInfo of the file at the canonical path without opening the file.
func look(canonical string) (fs.FileInfo, error) {
	fd, err := openat2(canonical, lookFlags)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), canonical)
	defer file.Close()
	return file.Stat()
}

// isCanonical reports whether path exists under exactly these names, and passes through no
// link. It saves most paths the walk, and returns false in doubt.
func isCanonical(path string) bool {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return false
	}
	fd, err := openat2(path, unix.O_PATH|unix.O_CLOEXEC)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return spelledExactly(path)
}

// openat2 opens an absolute path that contains no link.
func openat2(path string, flags uint64) (int, error) {
	how := unix.OpenHow{
		Flags:   flags,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
		switch err {
		case unix.EINTR:
			continue
		case unix.ELOOP, unix.EAGAIN:
			return -1, errMoved
		}
		return fd, err
	}
}

func (kernel) entry(dir string, d fs.DirEntry) fs.DirEntry { return entry{d, dir} }

// entry is a directory entry whose Info uses look. The Info of package os would use the
// path, wherever that leads by then.
type entry struct {
	fs.DirEntry
	dir string
}

func (e entry) Info() (fs.FileInfo, error) {
	info, err := look(join(e.dir, e.Name()))
	if err != nil {
		return nil, &fs.PathError{Op: "reading", Path: e.Name(), Err: cause(err)}
	}
	return info, nil
}
