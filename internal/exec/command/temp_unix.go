//go:build unix

package command

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// lockFolder locks a folder until the closer is closed or the process ends in any way.
// It fails if another process holds the lock.
func lockFolder(dir string) (io.Closer, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("locking %s: %w", dir, err)
	}
	return f, nil
}
