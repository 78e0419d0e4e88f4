package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-toolset/internal/record/state"
)

// lockExt is the suffix of the lock file of a server's folder.
const lockExt = ".lock"

// Folder is the folder of a server, within the root folder of all servers of
// the user. Its lock file is beside it.
type Folder struct {
	path string
	lock io.Closer
}

// Own creates the folder of this server. It creates the root and its parent if
// necessary. The lock is held until Close or Remove, or until the process ends
// for any reason.
func Own(folder string) (*Folder, error) {
	root := filepath.Dir(folder)
	for _, dir := range []string{filepath.Dir(root), root} {
		if err := state.EnsurePrivate(dir); err != nil {
			return nil, err
		}
	}
	var lock io.Closer
	var err error
	// Another server that is cleaning up may hold the lock, or remove its file
	// before we lock it, for a moment.
	for range 100 {
		if lock, err = tryLock(folder + lockExt); err == nil {
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
	return &Folder{folder, lock}, nil
}

// Path returns the path of the folder.
func (f *Folder) Path() string { return f.path }

// Close releases the lock. The content of the folder remains.
func (f *Folder) Close() error { return f.lock.Close() }

// Remove removes the folder, which must be empty, and releases the lock. It is
// no error if another process has removed the folder.
func (f *Folder) Remove() error {
	err := removeEmpty(f.path)
	return errors.Join(err, f.lock.Close())
}

// removeEmpty removes an empty folder and its lock file. The caller must hold
// the lock, so that no other process locks a file that is being removed. If the
// folder is not empty, both remain.
func removeEmpty(folder string) error {
	for _, path := range []string{folder, folder + lockExt} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Reclaim calls clean while it holds the lock of a server's folder. It then
// removes the folder, if that is empty, and its lock file. It returns false and
// does nothing if the server is running.
func Reclaim(folder string, clean func()) bool {
	lock, err := tryLock(folder + lockExt)
	if err != nil {
		return false
	}
	defer lock.Close()
	clean()
	_ = removeEmpty(folder) // it fails if clean left something
	return true
}

// Servers returns the paths of servers' folders in a root folder for which
// there is a folder or only a lock file.
func Servers(root string) (folders []string, err error) {
	entries, err := os.ReadDir(root)
	for _, e := range entries {
		name, lock := strings.CutSuffix(e.Name(), lockExt)
		if folder := filepath.Join(root, name); (lock || e.IsDir()) && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders, err
}
