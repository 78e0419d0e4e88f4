package filelock

import (
	"os"

	"golang.org/x/sys/windows"
)

// openFlags: the folder is the user's own, and following a link in it is all
// that opening could do wrong.
const openFlags = 0

// TryLock takes the lock of an open file and reports whether it could; false
// without an error says that another has it. The lock is of this opening of
// the file and ends when it is closed.
func TryLock(file *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(file.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, farAway())
	if err == windows.ERROR_LOCK_VIOLATION || err == windows.ERROR_IO_PENDING {
		return false, nil
	}
	return err == nil, err
}

func unlock(file *os.File) error {
	return windows.UnlockFileEx(windows.Handle(file.Fd()), 0, 1, 0, farAway())
}

// farAway is the byte that is locked. Here a lock keeps others from reading
// what it covers, so it covers what no file has.
func farAway() *windows.Overlapped {
	return &windows.Overlapped{Offset: 0xfffffffe, OffsetHigh: 0x7fffffff}
}
