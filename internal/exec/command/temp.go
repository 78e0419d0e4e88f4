package command

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/record/state"
)

// tempFolders manages the folders for temporary files: one of the server, made on first
// use, which holds one for each owner. It is in the system's folder for temporary
// files, since programs make sockets there, whose paths must be short.
type tempFolders struct {
	parents []string // folders in which to make it, in order of preference

	mu     sync.Mutex
	folder string      // of the server; "" before the first use
	made   os.FileInfo // of folder when it was made
	lock   io.Closer
	owners map[string]string
	closed bool
}

const tempPrefix = "mcp-toolset-"

// ownerName matches the name of an owner's folder.
var ownerName = regexp.MustCompile(`^[a-z2-7]{8}$`)

// base returns the server's folder; "" if there is none yet.
func (t *tempFolders) base() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.folder
}

// of returns the folder of an owner and makes it if it is absent. If the server's
// folder was removed or replaced, it makes one with a new name, since anybody may have
// taken the old one.
func (t *tempFolders) of(owner string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return "", fmt.Errorf("making a folder for temporary files: the server is ending")
	}
	if t.folder != "" && !t.stands() {
		_ = t.lock.Close()
		t.folder = ""
	}
	if t.folder == "" {
		if err := t.begin(); err != nil {
			return "", fmt.Errorf("making a folder for temporary files: %w", err)
		}
	}
	dir := t.owners[owner]
	if dir == "" {
		dir = filepath.Join(t.folder, strings.ToLower(rand.Text()[:8]))
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("making a folder for temporary files: %w", err)
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%s is no folder for temporary files any more; remove it", dir)
	}
	t.owners[owner] = dir
	return dir, nil
}

// existing returns the folder of an owner, or "" if it has none yet.
func (t *tempFolders) existing(owner string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.owners[owner]
}

// begin makes the server's folder.
func (t *tempFolders) begin() error {
	parents := t.parents
	if len(parents) == 0 { // commands may write everywhere
		parents = []string{os.TempDir()}
	}
	var dir string
	var err error
	for _, parent := range parents {
		sweepTemp(parent)
		if dir, err = makeTemp(parent); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	if t.lock, err = lockFolder(dir); err == nil {
		t.made, err = os.Lstat(dir)
	}
	if err != nil {
		return errors.Join(err, os.Remove(dir))
	}
	t.folder, t.owners = dir, map[string]string{}
	return nil
}

// stands reports whether the server's folder is still the one it made. The open lock
// prevents the reuse of its inode.
func (t *tempFolders) stands() bool {
	info, err := os.Lstat(t.folder)
	return err == nil && os.SameFile(info, t.made)
}

// forget removes the folder of an owner that is gone.
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
	var err error
	if t.stands() {
		err = removeAll(t.folder)
	}
	return errors.Join(err, t.lock.Close())
}

// maxTempParent is the limit of a parent's path, in bytes. It leaves room for paths of
// sockets in TMPDIR, which may have 108 bytes.
const maxTempParent = 50

// tempParents returns the folders in which the server's folder may be made: those where
// the system stores temporary files, except for folders that commands may write to,
// since a command could put a link in its place.
func tempParents(writable func(string) bool) []string {
	var out []string
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp"} {
		if filepath.IsAbs(dir) && len(dir) <= maxTempParent && !writable(dir) && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

func makeTemp(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, tempPrefix)
	if err != nil {
		return "", err
	}
	// A policy must name paths as the kernel sees them.
	return filepath.EvalSymlinks(dir)
}

// sweepAge is the age from which an unlocked folder counts as left behind. A server
// locks its folder just after making it.
const sweepAge = time.Hour

// sweepTemp removes the folders that killed servers have left.
func sweepTemp(parent string) {
	left, _ := filepath.Glob(filepath.Join(parent, tempPrefix+"*"))
	for _, dir := range left {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || !state.OwnedByUser(info) || time.Since(info.ModTime()) < sweepAge || !isServerTemp(dir) {
			continue
		}
		if lock, err := lockFolder(dir); err == nil {
			_ = removeAll(dir)
			_ = lock.Close()
		}
	}
}

// isServerTemp reports whether the name and contents of a folder show that a server made
// it. Users may name a folder mcp-toolset-something, too.
func isServerTemp(dir string) bool {
	number := strings.TrimPrefix(filepath.Base(dir), tempPrefix)
	entries, err := os.ReadDir(dir)
	return err == nil && number != "" && strings.Trim(number, "0123456789") == "" &&
		!slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !e.IsDir() || !ownerName.MatchString(e.Name()) })
}

// removeAll is like os.RemoveAll, but also removes folders whose mode forbids it. No
// other user may write to the parent of dir.
func removeAll(dir string) error {
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return os.RemoveAll(dir)
	}
	defer root.Close()
	return removeIn(root, filepath.Base(dir))
}
