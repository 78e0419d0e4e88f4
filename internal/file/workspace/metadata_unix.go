//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// copyMetadata gives the new file t the owner, group, permission bits and attributes of old, as
// far as the system permits. t must be private. What cannot be copied never opens the
// file to more users. newOwner and newGroup report whether owner and group could not be
// copied.
func copyMetadata(t *temp, old *Old) (newOwner, newGroup bool, err error) {
	file := t.file
	st, ok := old.Info.Sys().(*syscall.Stat_t)
	if !ok {
		return false, false, errors.ErrUnsupported
	}
	if file.Chown(int(st.Uid), int(st.Gid)) != nil {
		_ = file.Chown(-1, int(st.Gid)) // a member of the group may still set it
	}
	now, err := file.Stat()
	if err != nil {
		return false, false, err
	}
	mine, ok := now.Sys().(*syscall.Stat_t)
	newOwner, newGroup = !ok || mine.Uid != st.Uid, !ok || mine.Gid != st.Gid
	perm := old.Info.Mode().Perm()
	if !copyAttributes(file, old.File) || newGroup {
		perm &^= 0o070 &^ (perm << 3) // the group gets no more rights than others have
	}
	// Some file systems have no modes to set. The file remains private then.
	if err := file.Chmod(perm); err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, errors.ErrUnsupported) {
		return newOwner, newGroup, err
	}
	return newOwner, newGroup, nil
}

// mayWrite returns nil if this process has the right to write to the file in place, and
// ErrProtected if not.
func mayWrite(p *place, _ fs.FileInfo) error {
	err := onFolder(p.dir, func(fd int) error {
		return unix.Faccessat(fd, p.name, unix.W_OK, unix.AT_EACCESS)
	})
	if errors.Is(err, syscall.EACCES) { // EPERM is not caused by the mode
		return ErrProtected
	}
	return unlessGone(err)
}

// links returns the number of names (hard links) of the file.
func links(file *os.File) uint64 {
	var st unix.Stat_t
	if err := onFd(file, func(fd int) error { return unix.Fstat(fd, &st) }); err != nil {
		return 1
	}
	return uint64(st.Nlink)
}

// syncFolder syncs the names in a folder. It ignores file systems that cannot do so.
func syncFolder(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// onFolder calls f with a descriptor of the folder.
func onFolder(root *os.Root, f func(fd int) error) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	return onFd(dir, f)
}

// onFd calls f with the descriptor of file. Unlike Fd, it does not change the
// descriptor's blocking mode.
func onFd(file *os.File, f func(fd int) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	if err := conn.Control(func(fd uintptr) { result = f(int(fd)) }); err != nil {
		return err
	}
	return result
}
