package state

import (
	"fmt"
	"io"
	"path/filepath"
)

// LockExt is what the lock of a server's folder is called by, behind its name.
const LockExt = ".lock"

// OwnFolder makes a folder of this server's below a root of all servers of the
// user, which is made as well if its parent or it is absent. The lock beside it
// is held until it is closed or the process ends, however that ends: who cleans
// up takes only folders whose lock is free.
func OwnFolder(folder string) (lock io.Closer, err error) {
	root := filepath.Dir(folder)
	for _, dir := range []string{filepath.Dir(root), root} {
		if err := EnsurePrivate(dir); err != nil {
			return nil, err
		}
	}
	// Another server that is just cleaning up may hold or remove the lock for a
	// moment, before it is locked.
	for range 100 {
		if lock, err = TryLock(folder + LockExt); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("locking a folder of this server: %w", err)
	}
	if err := EnsurePrivate(folder); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return lock, nil
}
