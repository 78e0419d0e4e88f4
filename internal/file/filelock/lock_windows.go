package filelock

import (
	"os"

	"golang.org/x/sys/windows"
)

// openFlags is 0: the folder belongs to the user, and the only risk of opening
// a file in it is to follow a link.
const openFlags = 0

// TryLock tries to take the lock of an open file. It returns false without an
// error if the lock is held elsewhere. The lock belongs to this opening of the
// file and ends when it is closed.
func TryLock(file *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(file.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, lockRange())
	if err == windows.ERROR_LOCK_VIOLATION || err == windows.ERROR_IO_PENDING {
		return false, nil
	}
	return err == nil, err
}

func unlock(file *os.File) error {
	return windows.UnlockFileEx(windows.Handle(file.Fd()), 0, 1, 0, lockRange())
}

// lockRange returns the position of the byte to lock. On Windows a lock prevents
// others from reading the locked range, so it covers a byte that no file has.
func lockRange() *windows.Overlapped {
	return &windows.Overlapped{Offset: 0xfffffffe, OffsetHigh: 0x7fffffff}
}
