package store

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// tryLock takes an exclusive lock on a file, which it creates if necessary.
// Other processes can remove the file, but not open it for reading or writing.
// The lock ends with the process, for any reason. tryLock fails at once if the
// lock is held.
func tryLock(path string) (io.Closer, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_DELETE, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return os.NewFile(uintptr(h), path), nil
}
