package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Folder is a folder that the Check has allowed, in which to look for files.
type Folder struct {
	Path string // canonical

	files   *Files
	literal string
}

// Folder checks the folder that path, absolute and clean, leads to, under the rules of
// Open. If the path leads to something else, the error is a *fs.PathError with ENOTDIR.
func (f *Files) Folder(path string) (*Folder, error) {
	dir, canonical, err := f.open(path, isFolder)
	if err != nil {
		return nil, err
	}
	return &Folder{Path: canonical, files: f, literal: path}, dir.Close()
}

func isFolder(info fs.FileInfo) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return errMoved // a canonical path had no link when it was made
	case !info.IsDir():
		return syscall.ENOTDIR
	}
	return nil
}

// Opener returns a function that opens the folder that is at the canonical path at the
// time of the call, without following a link. The function does not call the Check.
func (d *Folder) Opener() func() (*os.File, error) {
	opener, canonical, literal := d.files.opener, d.Path, d.literal
	return func() (*os.File, error) {
		dir, err := opener.open(canonical, isFolder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			err = &fs.PathError{Op: "opening", Path: literal, Err: cause(err)}
		}
		return dir, err
	}
}

// Allowed reports whether the Check allows a file below the folder. below is its clean
// path relative to the folder, without a link in it.
func (d *Folder) Allowed(below string) bool {
	below = filepath.FromSlash(below)
	canonical := join(d.Path, below) // called for every match, so faster than filepath.Join
	literal := canonical
	if d.literal != d.Path {
		literal = filepath.Join(d.literal, below)
	}
	return d.files.check(literal, canonical) == nil
}
