package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// walk opens a path name by name, for systems whose kernel cannot be told to follow no
// links. At each step it looks at the name, opens it, and requires that the opened file
// is the one it saw. A link is seen as itself and never as its target.
type walk struct{ roots *Roots }

func (w walk) open(canonical string, fits func(fs.FileInfo) error) (*os.File, error) {
	dir, name, err := w.parent(canonical)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return openIn(dir, name, fits)
}

// folder opens the directory at the canonical path.
func (w walk) folder(canonical string) (*os.Root, error) {
	dir, _, err := w.parent(join(canonical, "."))
	return dir, err
}

// openIn opens the file name in dir for reading. It calls fits before and after
// opening.
func openIn(dir *os.Root, name string, fits func(fs.FileInfo) error) (*os.File, error) {
	seen, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if err := fits(seen); err != nil {
		return nil, err
	}
	file, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, unlessMoved(dir, name, seen, err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !os.SameFile(seen, info):
		err = errMoved
	default:
		err = fits(info)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// parent opens the directory that holds the last name of canonical.
func (w walk) parent(canonical string) (dir *os.Root, name string, err error) {
	dir, rest, err := w.start(canonical)
	if err != nil {
		return nil, "", err
	}
	name, rest = cutName(rest)
	for rest != "" {
		sub, err := enter(dir, name)
		dir.Close()
		if err != nil {
			return nil, "", err
		}
		dir = sub
		name, rest = cutName(rest)
	}
	if name == "" {
		name = "."
	}
	return dir, name, nil
}

// start returns the directory to walk from and the names to walk through. The directory
// is the deepest root's own handle if that is still the folder at the root's path, and
// otherwise the top of the file system.
func (w walk) start(canonical string) (dir *os.Root, rest string, err error) {
	if root, ok := w.roots.containing(canonical); ok {
		held, err := root.handle.Stat(".")
		if err != nil {
			return nil, "", err
		}
		if there, err := os.Lstat(root.path); err == nil && os.SameFile(held, there) {
			dir, err := root.handle.OpenRoot(".")
			return dir, canonical[len(root.path):], err
		}
	}
	top, rest := splitVolume(canonical)
	dir, err = os.OpenRoot(top)
	return dir, rest, err
}

// enter opens the directory name in dir.
func enter(dir *os.Root, name string) (*os.Root, error) {
	seen, err := dir.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, errMoved
	case !seen.IsDir():
		return nil, syscall.ENOTDIR
	}
	sub, err := openDir(dir, name)
	if err != nil {
		return nil, unlessMoved(dir, name, seen, err)
	}
	info, err := sub.Stat(".")
	if err == nil && !os.SameFile(seen, info) {
		err = errMoved
	}
	if err != nil {
		sub.Close()
		return nil, err
	}
	return sub, nil
}

// openDir opens name as a directory. With "/." it fails for a pipe that has replaced
// the directory; with the bare name, OpenRoot would wait for a writer.
func openDir(dir *os.Root, name string) (*os.Root, error) {
	return dir.OpenRoot(name + separator + ".")
}

// unlessMoved returns err, from opening name, if it concerns the file that was seen,
// and otherwise errMoved. It returns errMoved if name is another file by now, or if
// os.Root met a link, even briefly: then err is ELOOP or ENOTDIR, or not from the
// system.
func unlessMoved(dir *os.Root, name string, seen fs.FileInfo, err error) error {
	var system syscall.Errno
	if !errors.As(err, &system) || system == syscall.ELOOP || system == syscall.ENOTDIR {
		return errMoved
	}
	if now, err := dir.Lstat(name); err != nil || !os.SameFile(seen, now) {
		return errMoved
	}
	return err
}

// entry returns d. Package os has already looked it up in the directory itself, as it
// does for a directory opened in an os.Root.
func (walk) entry(_ string, d fs.DirEntry) fs.DirEntry { return d }
