//go:build linux || darwin

package command

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// spot is a name in an open folder that was reached without following a link.
// Operations on it apply to that folder even if the folders above are replaced. The
// caller must call close.
type spot struct {
	dir  int
	name string
}

// openParent opens the folder that holds path, following no links below base. The error is
// errLinked if the path goes through a link or a file.
func openParent(base, path string) (*spot, error) {
	rel, err := filepath.Rel(base, path)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return nil, fmt.Errorf("%s is not below %s", path, base)
	}
	fd, err := unix.Open(base, openOnly|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", base, err)
	}
	parts := strings.Split(rel, "/")
	for _, part := range parts[:len(parts)-1] {
		next, err := unix.Openat(fd, part, openOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		_ = unix.Close(fd)
		if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) { // Linux, and macOS for a link
			err = errLinked
		}
		if err != nil {
			return nil, fmt.Errorf("opening %s in %s: %w", part, base, err)
		}
		fd = next
	}
	return &spot{fd, parts[len(parts)-1]}, nil
}

func (s *spot) close() { _ = unix.Close(s.dir) }

func (s *spot) look() (facts, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(s.dir, s.name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return facts{}, err
	}
	return factsOf(st), nil
}

func factsOf(st unix.Stat_t) facts {
	f := facts{links: uint64(st.Nlink), size: st.Size, changed: st.Ctim.Nano(), inode: st.Ino, device: uint64(st.Dev)}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		f.kind = fs.ModeDir
	case unix.S_IFLNK:
		f.kind = fs.ModeSymlink
	default:
		f.kind = fs.ModeIrregular
	}
	return f
}

// lookAt returns facts about the file at path. It follows no link there.
func lookAt(path string) (facts, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return facts{}, err
	}
	return factsOf(st), nil
}

// open opens a file or folder for reading. It fails for a link.
func (s *spot) open() (*os.File, error) {
	fd, err := unix.Openat(s.dir, s.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), s.name), nil
}

// in returns the spot of a name in an open folder. It is valid while f is open and
// needs no close.
func in(f *os.File, name string) *spot { return &spot{int(f.Fd()), name} }

// create makes an empty file. It fails if the name exists.
func (s *spot) create() error {
	fd, err := unix.Openat(s.dir, s.name, unix.O_RDONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// unlink removes a file.
func (s *spot) unlink() error { return unix.Unlinkat(s.dir, s.name, 0) }

func (s *spot) mkdir() error { return unix.Mkdirat(s.dir, s.name, 0o755) }

func (s *spot) link(text string) error { return unix.Symlinkat(text, s.dir, s.name) }

func (s *spot) moveTo(folder string) error {
	err := unix.Renameat(s.dir, s.name, unix.AT_FDCWD, filepath.Join(folder, s.name))
	if err == unix.EXDEV { // on another file system: rename it to a name that no program reads
		err = unix.Renameat(s.dir, s.name, s.dir, s.name+".taken-"+strings.ToLower(rand.Text()[:8]))
	}
	return err
}

// alone replaces a file that has further names (hard links) by a copy, since the file
// could be changed through the other names.
func (s *spot) alone() error {
	in, err := s.open()
	if err != nil {
		return err
	}
	defer in.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(in.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink < 2 {
		return err
	}
	if st.Size > copyLimit {
		return fmt.Errorf("%s has further names (hard links) and is too large for a copy", s.name)
	}
	other := spot{s.dir, s.name + copySuffix}
	_ = unix.Unlinkat(s.dir, other.name, 0) // left by a killed server
	fd, err := unix.Openat(s.dir, other.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	out := os.NewFile(uintptr(fd), other.name)
	_, err = io.Copy(out, io.LimitReader(in, copyLimit))
	err = errors.Join(err, unix.Fchown(fd, int(st.Uid), int(st.Gid)), unix.Fchmod(fd, uint32(st.Mode)&0o777), out.Close())
	if err == nil {
		err = unix.Renameat(s.dir, other.name, s.dir, s.name)
	}
	if err != nil {
		_ = unix.Unlinkat(s.dir, other.name, 0)
	}
	return err
}

// replace makes a new file, with the mode and owner of the present one if there is one, and
// renames it over that.
func (s *spot) replace(content []byte) error {
	other := s.beside(copySuffix)
	_ = other.unlink() // left by a killed server
	mode, uid, gid := uint32(0o644), -1, -1
	var st unix.Stat_t
	if unix.Fstatat(s.dir, s.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
		mode, uid, gid = uint32(st.Mode)&0o777, int(st.Uid), int(st.Gid)
	}
	fd, err := unix.Openat(s.dir, other.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	out := os.NewFile(uintptr(fd), other.name)
	_, err = out.Write(content)
	if uid >= 0 {
		err = errors.Join(err, unix.Fchown(fd, uid, gid))
	}
	err = errors.Join(err, unix.Fchmod(fd, mode), out.Close())
	if err == nil {
		err = unix.Renameat(s.dir, other.name, s.dir, s.name)
	}
	if err != nil {
		_ = unix.Unlinkat(s.dir, other.name, 0)
	}
	return err
}

// beside returns the name with a suffix, in the same folder. It needs no close.
func (s *spot) beside(suffix string) *spot { return &spot{s.dir, s.name + suffix} }

// overwrite changes the content of a file in place. A mount on a file is gone when another file is
// renamed over it, in every mount namespace. A reader at the same time finds the new content,
// perhaps with empty lines behind it.
func (s *spot) overwrite(content []byte) error {
	fd, err := unix.Openat(s.dir, s.name, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink > 1 {
		return errors.Join(err, fs.ErrInvalid)
	}
	padded := append(slices.Clone(content), bytes.Repeat([]byte("\n"), max(0, int(st.Size)-len(content)))...)
	if _, err := unix.Pwrite(fd, padded, 0); err != nil {
		return err
	}
	return unix.Ftruncate(fd, int64(len(content)))
}

// stampOf returns the stamp of an open folder. No command can choose the ctime in it.
func stampOf(f *os.File) (s stamp, ok bool) {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return s, false
	}
	return stamp{uint64(st.Dev), st.Ino, st.Ctim.Nano()}, true
}

func stampAt(path string) (s stamp, ok bool) {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return s, false
	}
	return stamp{uint64(st.Dev), st.Ino, st.Ctim.Nano()}, true
}

// openFolder opens a folder for listing. It fails for a link.
func openFolder(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}
