package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// place is the location of a file that exists or is to be made. All operations use the
// handle of its folder, so they stay in the folder that was checked whatever happens to
// its path.
type place struct {
	dir     *os.Root // the file's folder or, while some are missing, the deepest existing one
	path    string   // canonical path of dir
	missing []string // folders to make in dir, the deepest first
	name    string   // name of the file
	steps   []step   // from the first dir to the present one
}

// step is a folder that was entered on the way.
type step struct {
	parent *os.Root
	name   string
	path   string
	made   bool
}

// find opens the folder of the canonical path, or its deepest existing parent.
func (f *Files) find(canonical string) (*place, error) {
	p := &place{path: filepath.Dir(canonical), name: filepath.Base(canonical)}
	if p.path == canonical {
		p.name = "." // the top of the file system has no name
	}
	for {
		dir, err := f.opener.folder(p.path)
		if err == nil {
			p.dir = dir
			return p, nil
		}
		up := filepath.Dir(p.path)
		if !errors.Is(err, fs.ErrNotExist) || up == p.path {
			return nil, err
		}
		p.missing = append(p.missing, filepath.Base(p.path))
		p.path = up
	}
}

// close closes the handles. It does not remove folders that were made.
func (p *place) close() {
	p.dir.Close()
	for _, s := range p.steps {
		s.parent.Close()
	}
}

// old opens the file. It returns nil if there is none. Errors name the file as the
// caller did.
func (p *place) old(literal string) (*Old, error) {
	if len(p.missing) > 0 {
		return nil, nil
	}
	old := new(Old)
	file, err := openIn(p.dir, p.name, func(info fs.FileInfo) error {
		if info.Mode()&fs.ModeSymlink != 0 {
			return errMoved // a canonical path had no link when it was made
		}
		if kind := kindOf(info.Mode()); kind != "" {
			return &KindError{Path: literal, Kind: kind}
		}
		old.Info = info
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	old.File = file
	return old, nil
}

// checkUnchanged returns errMoved unless the name leads to the same file in the same state, or
// to no file if old is nil.
func (p *place) checkUnchanged(old *Old) error {
	now, err := p.dir.Lstat(p.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if old == nil {
			return nil
		}
		return errMoved
	case err != nil:
		return err
	case old == nil || !os.SameFile(now, old.Info) || IdentityOf(now) != IdentityOf(old.Info):
		return errMoved
	}
	return nil
}

// makeFolders makes the missing folders one by one, with the modes that the umask
// allows, and enters each by the rules of walk. It accepts a folder that another
// process makes meanwhile.
func (p *place) makeFolders() error {
	for len(p.missing) > 0 {
		last := len(p.missing) - 1
		name := p.missing[last]
		err := p.dir.Mkdir(name, 0o777)
		if errors.Is(err, fs.ErrNotExist) {
			return errMoved // dir itself has been removed
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		s := step{p.dir, name, join(p.path, name), err == nil}
		sub, err := enter(p.dir, name)
		switch {
		case err == nil:
			p.dir, p.path, p.missing = sub, s.path, p.missing[:last]
			p.steps = append(p.steps, s)
			continue
		case s.made:
			removeFolder(s)
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return errMoved // resolving the path again finds the reason
		}
		return err
	}
	return nil
}

// unmake removes the folders that were made, unless others use them by now, and closes
// the handles: some file systems do not remove a folder that is open.
func (p *place) unmake() {
	p.dir.Close()
	for _, s := range slices.Backward(p.steps) {
		if s.made {
			removeFolder(s)
		}
		s.parent.Close()
	}
}

func removeFolder(s step) {
	// Remove would also remove a file that has the name by now.
	if info, err := s.parent.Lstat(s.name); err == nil && info.IsDir() {
		_ = s.parent.Remove(s.name)
	}
}

// made returns the folders that were made.
func (p *place) made() []string {
	var paths []string
	for _, s := range p.steps {
		if s.made {
			paths = append(paths, s.path)
		}
	}
	return paths
}

// storeNames is syncFolder; tests replace it.
var storeNames = syncFolder

// sync syncs the names that are new: the file's and those of the folders made.
func (p *place) sync() error {
	if err := storeNames(p.dir); err != nil {
		return err
	}
	for _, s := range slices.Backward(p.steps) {
		if !s.made {
			continue
		}
		if err := storeNames(s.parent); err != nil {
			return err
		}
	}
	return nil
}
