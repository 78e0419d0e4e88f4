package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// privateTemp puts TempDir over a masked folder for temporary files. What the mask shows
// moves along with all mounts in it.
//
// Other commands that use TempDir may rename the mount points meanwhile. So everything in
// the mask is complete before, with its protected and hidden names, and each part is
// attached to an open folder.
func (m *mounter) privateTemp(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	parts := map[string]int{}
	defer func() {
		for _, fd := range parts {
			unix.Close(fd)
		}
	}()
	for _, e := range entries {
		if parts[e.Name()], err = clone(filepath.Join(folder, e.Name())); err != nil {
			return err
		}
	}
	temp, err := clone(m.p.TempDir)
	if err != nil {
		return err
	}
	defer unix.Close(temp)
	root, err := os.OpenRoot(m.p.TempDir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, e := range entries {
		if err := mountPoint(root, e); err != nil {
			return fmt.Errorf("making %s in the folder for temporary files: %w", e.Name(), err)
		}
	}
	if err := attach(temp, folder); err != nil {
		return err
	}
	for name, fd := range parts {
		place, err := openUnlinked(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		err = unix.MoveMount(fd, "", place, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
		unix.Close(place)
		if err != nil {
			return fmt.Errorf("mounting on %s: %w", filepath.Join(folder, name), err)
		}
	}
	return nil
}

// mountPoint makes an entry of root on which a mount of the same kind fits. It replaces
// what commands have put there.
func mountPoint(root *os.Root, e fs.DirEntry) error {
	name := e.Name()
	switch info, err := root.Lstat(name); {
	case err == nil && info.IsDir() == e.IsDir() && (e.IsDir() || info.Mode().IsRegular()):
		return nil
	case err == nil:
		if err := root.RemoveAll(name); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if e.IsDir() {
		return ignoreExist(root.Mkdir(name, 0o700))
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// ignoreExist returns err unless another command has made the name at the same time.
func ignoreExist(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
