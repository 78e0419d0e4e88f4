//go:build unix

package filelock

import (
	"os"

	"golang.org/x/sys/unix"
)

// openFlags makes opening fail on a link. Package os closes all its files in
// child processes.
const openFlags = unix.O_NOFOLLOW

// TryLock tries to take the lock of an open file. It returns false without an
// error if the lock is held elsewhere. The lock belongs to this opening of the
// file and ends when it is closed.
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
