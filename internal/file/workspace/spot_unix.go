//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// errInvalid is the error of systems and file systems that cannot exchange names.
var errInvalid = syscall.EINVAL

func setOwner(file *os.File, o Owner) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == o.User && int(st.Gid) == o.Group {
		return nil
	}
	if err := file.Chown(o.User, o.Group); err != nil {
		_ = file.Chown(-1, o.Group)
		return err
	}
	return nil
}

// hardLink makes name in dir another name of the file at from. It follows no link.
func hardLink(from *Spot, dir *os.Root, name string) error {
	return onFolder(from.dir, func(source int) error {
		return onFolder(dir, func(fd int) error { return unix.Linkat(source, from.name, fd, name, 0) })
	})
}

func removeEmpty(dir *os.Root, name string) error {
	return onFolder(dir, func(fd int) error { return unix.Unlinkat(fd, name, unix.AT_REMOVEDIR) })
}

// setMode sets the permission bits of what was seen at a name. It opens it first, so that it
// follows no link. For what may not be opened, it relies on Root.Chmod.
func setMode(dir *os.Root, name string, seen fs.FileInfo, mode fs.FileMode) error {
	var file *os.File
	var err error
	if seen.IsDir() {
		var sub *os.Root
		if sub, err = enter(dir, name); err == nil {
			defer sub.Close()
			file, err = sub.Open(".")
		}
	} else {
		file, err = (&Spot{dir, name}).open(seen)
	}
	if errors.Is(err, fs.ErrPermission) {
		if now, look := dir.Lstat(name); look != nil || !os.SameFile(now, seen) || now.Mode()&fs.ModeSymlink != 0 {
			return ErrDiffers
		}
		return dir.Chmod(name, mode)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	now, err := file.Stat()
	switch {
	case err != nil:
		return err
	case !os.SameFile(now, seen):
		return ErrDiffers
	}
	return file.Chmod(mode)
}
