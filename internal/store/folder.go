package store

import (
	"fmt"
	"io"
	"path/filepath"

	"mcp-toolset/internal/state"
)

// LockExt is the suffix of the lock file of a server's folder.
const LockExt = ".lock"

// OwnFolder creates a folder for this server within the root folder of all
// servers of the user. It creates the root and its parent if necessary. The
// lock beside the folder is held until it is closed or the process ends for any
// reason. Cleaning up removes only folders whose lock is free.
func OwnFolder(folder string) (lock io.Closer, err error) {
	root := filepath.Dir(folder)
	for _, dir := range []string{filepath.Dir(root), root} {
		if err := state.EnsurePrivate(dir); err != nil {
			return nil, err
		}
	}
	// Another server that is cleaning up may hold the lock, or remove its file
	// before we lock it, for a moment.
	for range 100 {
		if lock, err = TryLock(folder + LockExt); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("locking a folder of this server: %w", err)
	}
	if err := state.EnsurePrivate(folder); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return lock, nil
}
