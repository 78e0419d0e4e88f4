package state

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// TryLock takes an exclusive lock on a file, which is made if it is absent: nobody
// else can open it for reading or writing, but its name can be removed. The lock
// ends with the process, however that ends. It fails at once if it is held.
func TryLock(path string) (io.Closer, error) {
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
