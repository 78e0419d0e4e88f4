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

	"mcp-toolset/internal/state"
)

// tempFolders are the folders for temporary files: one of the server, made when
// it is needed, in which each owner has one of its own. It lies where the system
// keeps temporary files, since programs make sockets there, whose paths must be
// short.
type tempFolders struct {
	parents []string // where to make it, the best first

	mu     sync.Mutex
	folder string      // of the server; "" before the first
	made   os.FileInfo // what it was then
	lock   io.Closer
	owners map[string]string
	closed bool
}

const tempPrefix = "mcp-toolset-"

// ownerName is what the folder of an owner is called.
var ownerName = regexp.MustCompile(`^[a-z2-7]{8}$`)

// base is the server's folder, "" as long as there is none.
func (t *tempFolders) base() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.folder
}

// of is the folder of an owner. One that somebody removed is made again; if it
// was the server's, under another name, since anybody may have taken the old one.
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

// stands reports whether the server's folder is still the one it made. The lock
// keeps its inode from being given to another.
func (t *tempFolders) stands() bool {
	info, err := os.Lstat(t.folder)
	return err == nil && os.SameFile(info, t.made)
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
	var err error
	if t.stands() {
		err = removeAll(t.folder)
	}
	return errors.Join(err, t.lock.Close())
}

// maxTempParent keeps the paths of sockets in TMPDIR below the 108 bytes that
// they may have.
const maxTempParent = 50

// tempParents are the folders in which that of a server may be made: where
// the system keeps temporary files, unless commands may write there, which could
// put a link in its place.
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
	// What a policy names has to be what the kernel sees.
	return filepath.EvalSymlinks(dir)
}

// sweepAge is how old a folder must be to be taken for one that was left: its
// server locks it just after making it.
const sweepAge = time.Hour

// sweepTemp removes what servers that were killed have left.
func sweepTemp(parent string) {
	left, _ := filepath.Glob(filepath.Join(parent, tempPrefix+"*"))
	for _, dir := range left {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || !state.Ours(info) || time.Since(info.ModTime()) < sweepAge || !looksLeft(dir) {
			continue
		}
		if lock, err := lockFolder(dir); err == nil {
			_ = removeAll(dir)
			_ = lock.Close()
		}
	}
}

// looksLeft reports whether a folder is of a server's making by its name and what
// is in it: somebody may call one of theirs mcp-toolset-something, too.
func looksLeft(dir string) bool {
	number := strings.TrimPrefix(filepath.Base(dir), tempPrefix)
	entries, err := os.ReadDir(dir)
	return err == nil && number != "" && strings.Trim(number, "0123456789") == "" &&
		!slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !e.IsDir() || !ownerName.MatchString(e.Name()) })
}

// removeAll is os.RemoveAll that also gets at folders whose mode forbids it. The
// folder that dir is in is nobody else's.
func removeAll(dir string) error {
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return os.RemoveAll(dir)
	}
	defer root.Close()
	return removeIn(root, filepath.Base(dir))
}
