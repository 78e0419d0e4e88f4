package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Folder is a folder that the Check has allowed, to look for files below it.
type Folder struct {
	Path string // canonical

	files   *Files
	literal string
}

// Folder judges the folder that path, absolute and clean, leads to, under the
// rules of Open. A path that leads to something else is a *fs.PathError with
// ENOTDIR.
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

// Opener returns what opens the folder at the canonical path, each time the one
// that is there then, without following a link. It judges nothing.
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

// Allowed reports whether the Check allows a file below the folder, given by its
// clean path from there, which must have no link in it.
func (d *Folder) Allowed(below string) bool {
	below = filepath.FromSlash(below)
	canonical := join(d.Path, below) // for every file that matches: Join takes longer
	literal := canonical
	if d.literal != d.Path {
		literal = filepath.Join(d.literal, below)
	}
	return d.files.check(literal, canonical) == nil
}
