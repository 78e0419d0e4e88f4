//go:build unix

package filelock

import (
	"os"

	"golang.org/x/sys/unix"
)

// openFlags: a link in a lock file's place is an error. Every file that
// package os opens is closed in children.
const openFlags = unix.O_NOFOLLOW

// TryLock takes the lock of an open file and reports whether it could; false
// without an error says that another has it. The lock is of this opening of
// the file and ends when it is closed.
func TryLock(file *os.File) (bool, error) {
	err := onDescriptor(file, unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return false, nil
	}
	return err == nil, err
}

func unlock(file *os.File) error { return onDescriptor(file, unix.LOCK_UN) }

func onDescriptor(file *os.File, how int) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	err = conn.Control(func(fd uintptr) {
		for {
			if result = unix.Flock(int(fd), how); result != unix.EINTR {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return result
}
