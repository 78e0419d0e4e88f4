// Package workspace resolves paths, and opens and writes files safely.
//
// Its rules:
//   - A root folder is resolved once, when the server starts.
//   - A path is checked in its canonical form: absolute, without a symbolic link
//     in it. A path that cannot be resolved is an error, never a guess.
//   - The file that is opened is the one that was checked. Opening follows no
//     link, so a folder replaced by a link after the check is detected.
//   - A write replaces the old content in one step or not at all.
//   - Only regular files and directories are opened: no pipe that blocks, no
//     device that acts.
//
// The Check given to NewFiles decides which paths are allowed.
//
// On Linux a file is opened by openat2. Elsewhere, and where openat2 is missing, the path
// is walked one name at a time, with lstat and fstat compared. A path that is swapped in
// between is an error or a fresh start, never another file. Walking was chosen over
// opening and checking afterwards, which loses to an attacker who swaps twice. Windows
// has more spellings of a path: Canonical rejects by its text what Windows would take for
// another path, and a share must be trusted (TrustShares) before anything on it is
// accessed.
package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Roots is the set of workspace root folders, resolved once. It is safe for concurrent
// use.
type Roots struct {
	list   []root
	opener opener
	swept  sweeps
}

type root struct {
	path   string
	handle *os.Root
}

// OpenRoots opens the workspace roots in the given order, without duplicates. It
// resolves each folder's symbolic links and, where the file system ignores case, its
// spelling. A relative folder is relative to the working directory. The Roots hold a
// handle on each folder until Close, so that a root renamed or replaced by a link later
// does not move the workspace. The error names a folder that does not exist, is not a
// directory or cannot be opened.
func OpenRoots(dirs []string) (*Roots, error) {
	r := new(Roots)
	for _, dir := range dirs {
		if err := r.add(dir); err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	r.opener = newOpener(r)
	return r, nil
}

func (r *Roots) add(dir string) error {
	if dir == "" {
		// An empty path would become the working directory, which the user did not ask
		// for.
		return errors.New("workspace root is an empty path")
	}
	path, err := filepath.Abs(dir)
	if err == nil {
		TrustShares(path)
		path, err = Canonical(path)
	}
	if err != nil {
		return fmt.Errorf("resolving workspace root %s: %w", dir, cause(err))
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("workspace root %s does not exist", dir)
	case err != nil:
		return fmt.Errorf("opening workspace root %s: %w", dir, cause(err))
	case !info.IsDir():
		return fmt.Errorf("workspace root %s is not a directory", dir)
	}
	for _, have := range r.list {
		if have.path == path {
			return nil
		}
	}
	handle, err := os.OpenRoot(path)
	if err != nil {
		return fmt.Errorf("opening workspace root %s: %w", dir, cause(err))
	}
	r.list = append(r.list, root{path, handle})
	return nil
}

// Paths returns the canonical root folders in the order they were given. The caller
// owns the slice.
func (r *Roots) Paths() []string {
	paths := make([]string, len(r.list))
	for i, root := range r.list {
		paths[i] = root.path
	}
	return paths
}

// Containing returns the deepest of some canonical folders that is the canonical path or above
// it; "" if none is.
func Containing(roots []string, canonical string) (deepest string) {
	for _, root := range roots {
		if Within(root, canonical) && len(root) > len(deepest) {
			deepest = root
		}
	}
	return deepest
}

func (r *Roots) containing(canonical string) (deepest root, ok bool) {
	for _, root := range r.list {
		if Within(root.path, canonical) && len(root.path) > len(deepest.path) {
			deepest, ok = root, true
		}
	}
	return deepest, ok
}

// Close closes the handles of the root folders. Open files stay open.
func (r *Roots) Close() error {
	var errs []error
	for _, root := range r.list {
		errs = append(errs, root.handle.Close())
	}
	return errors.Join(errs...)
}

// cause returns the underlying error without its path. Errors that leave this package
// name the path as the caller wrote it, not the target of its links.
func cause(err error) error {
	var at *fs.PathError
	var renamed *os.LinkError
	switch {
	case errors.As(err, &at):
		return at.Err
	case errors.As(err, &renamed):
		return renamed.Err
	}
	return err
}
