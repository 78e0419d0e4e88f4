//go:build unix

package store

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// tryLock takes an exclusive lock on a file, which it creates if necessary. The
// lock ends with the process, for any reason. tryLock fails at once if the lock
// is held.
func tryLock(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	// The file may have been removed between opening and locking it.
	mine, err1 := f.Stat()
	there, err2 := os.Lstat(path)
	if err1 != nil || err2 != nil || !os.SameFile(mine, there) {
		_ = f.Close()
		return nil, fmt.Errorf("locking %s: it was replaced meanwhile", path)
	}
	return f, nil
}
