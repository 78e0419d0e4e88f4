package command

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// tempFolders are the folders for temporary files: one of the server, made when
// it is needed, in which each owner has one of its own. It lies where the system
// keeps temporary files, since programs make sockets there, whose paths must be
// short.
type tempFolders struct {
	mu     sync.Mutex
	folder string // of the server; "" before the first
	lock   io.Closer
	owners map[string]string
	closed bool
}

const tempPrefix = "mcp-toolset-"

// base is the server's folder, "" as long as there is none.
func (t *tempFolders) base() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.folder
}

// of is the folder of an owner. One that somebody removed is made again.
func (t *tempFolders) of(owner string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return "", fmt.Errorf("making a folder for temporary files: the server is ending")
	}
	if t.folder == "" {
		sweepTemp()
		dir, err := makeTemp()
		if err == nil {
			t.lock, err = lockFolder(dir)
		}
		if err != nil {
			return "", fmt.Errorf("making a folder for temporary files: %w", err)
		}
		t.folder, t.owners = dir, map[string]string{}
	}
	dir := t.owners[owner]
	if dir == "" {
		dir = filepath.Join(t.folder, strings.ToLower(rand.Text()[:8]))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making a folder for temporary files: %w", err)
	}
	t.owners[owner] = dir
	return dir, nil
}

// forget removes the folder of an owner who is gone.
func (t *tempFolders) forget(owner string) {
	t.mu.Lock()
	dir := t.owners[owner]
	delete(t.owners, owner)
	t.mu.Unlock()
	if dir != "" {
		_ = removeAll(dir)
	}
}

func (t *tempFolders) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.folder == "" {
		return nil
	}
	return errors.Join(removeAll(t.folder), t.lock.Close())
}

func makeTemp() (string, error) {
	dir, err := os.MkdirTemp("", tempPrefix)
	if err != nil {
		return "", err
	}
	// What a policy names has to be what the kernel sees.
	return filepath.EvalSymlinks(dir)
}

// sweepAge is how old a folder must be to be taken for one that was left: its
// server locks it just after making it.
const sweepAge = time.Hour

// sweepTemp removes what servers that were killed have left.
func sweepTemp() {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+"*"))
	for _, dir := range left {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || !ours(info) || time.Since(info.ModTime()) < sweepAge {
			continue
		}
		if lock, err := lockFolder(dir); err == nil {
			_ = removeAll(dir)
			_ = lock.Close()
		}
	}
}

// removeAll is os.RemoveAll that also gets at folders whose mode forbids it,
// such as those of Go's module cache.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
