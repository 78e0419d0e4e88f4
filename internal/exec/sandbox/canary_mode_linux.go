package sandbox

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// tryTerminal opens the server's terminal. If the command has terminals of its own,
// that name does not exist.
func tryTerminal(flags int) attempt {
	return func(_ Policy, t Targets) error {
		if t.Terminal == "" {
			return errors.New("there is none here")
		}
		fd, err := unix.Open(t.Terminal, flags|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return unix.Close(fd)
	}
}

// trySetuid makes a setuid file and a setgid file, and removes them.
func trySetuid(set func(path string, mode uint32) error) attempt {
	return func(p Policy, t Targets) error {
		folder := p.TempDir
		if folder == "" {
			if folder = t.Inside; p.ReadOnly {
				return errors.New("there is no folder to try it in")
			}
		}
		path := filepath.Join(folder, ".canary-mode")
		for _, bit := range []uint32{unix.S_ISUID, unix.S_ISGID} {
			err := set(path, bit|0o700)
			var st unix.Stat_t
			made := unix.Lstat(path, &st) == nil
			if made {
				_ = unix.Unlink(path)
			}
			switch {
			case made && st.Mode&bit != 0:
				return nil
			case err == nil:
				err = errors.New("the bit was dropped")
			}
			if bit == unix.S_ISGID {
				return err
			}
		}
		return nil
	}
}

func setByChmod(path string, mode uint32) error {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Fchmod(fd, mode); err == nil {
		return nil
	}
	if err := unix.Fchmodat(unix.AT_FDCWD, path, mode, 0); err == nil {
		return nil
	}
	return unix.Fchmodat(unix.AT_FDCWD, path, mode, unix.AT_SYMLINK_NOFOLLOW)
}

func setByOpen(path string, mode uint32) error {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func setByOpenat2(path string, mode uint32) error {
	how := unix.OpenHow{Flags: unix.O_CREAT | unix.O_EXCL | unix.O_WRONLY | unix.O_CLOEXEC, Mode: uint64(mode)}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func setByMknod(path string, mode uint32) error { return unix.Mknod(path, unix.S_IFREG|mode, 0) }
