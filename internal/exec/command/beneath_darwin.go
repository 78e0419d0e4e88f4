package command

import (
	"errors"

	"golang.org/x/sys/unix"
)

// openOnly opens a folder for operations on names in it.
const openOnly = unix.O_RDONLY

// remove removes the name and everything below it.
func (s *spot) remove() error {
	err := s.unlink()
	if err == nil {
		return nil
	}
	at, lookErr := s.look()
	if lookErr != nil || !at.kind.IsDir() {
		return err
	}
	_ = unix.Fchmodat(s.dir, s.name, 0o700, unix.AT_SYMLINK_NOFOLLOW)
	folder, err := s.open()
	if err != nil {
		return err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	for _, name := range names {
		err = errors.Join(err, in(folder, name).remove())
	}
	return errors.Join(err, unix.Unlinkat(s.dir, s.name, unix.AT_REMOVEDIR))
}
