package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

const (
	// maxAttempts is the number of attempts to open a path that changes meanwhile. An
	// editor or a checkout causes one more attempt; an attacker gets no more than
	// these.
	maxAttempts = 8

	// listBatch is the number of directory entries read at a time: enough for cheap
	// sorting between batches, few enough to hold in memory.
	listBatch = 4096
)

// errMoved is the error for a path that no longer leads where it did when it was
// checked.
var errMoved = errors.New("path changed while it was being opened")

// Check decides on one file access by its literal and its canonical path. It returns
// nil to allow the access. A path that cannot be resolved is passed as both.
type Check func(literal, canonical string) error

// Files opens and writes files for one call, each only after its Check has allowed it.
// It is safe for concurrent use if the Check is.
type Files struct {
	opener  opener
	check   Check
	swept   *sweeps
	private bool
	watch   Watch
}

// opener opens a canonical path without following a link. If a link has appeared in the
// path, it returns errMoved.
type opener interface {
	// open calls fits before it opens the file, since opening a pipe or a device acts
	// on it, and again for the file that was opened. It returns an error of fits
	// unchanged.
	open(canonical string, fits func(fs.FileInfo) error) (*os.File, error)
	// folder opens a directory in which file names are then looked up.
	folder(canonical string) (*os.Root, error)
	// entry returns d with an Info that is as safe as open.
	entry(dir string, d fs.DirEntry) fs.DirEntry
}

// NewFiles returns Files that call check, which must not be nil, before they open
// anything.
func NewFiles(roots *Roots, check Check) *Files {
	return &Files{opener: roots.opener, check: check, swept: &roots.swept}
}

// Private returns Files whose Update creates files that only their owner can access.
func (f *Files) Private() *Files {
	p := *f
	p.private = true
	return &p
}

// Watch is called by Update before a file at a canonical path gets new content. old is nil if
// there is no file; its File may be read until Watch returns. done is called once the file
// has the content, and may be nil.
type Watch func(path string, old *Old, content []byte) (done func(Written))

// Watched returns Files whose Update calls watch.
func (f *Files) Watched(watch Watch) *Files {
	w := *f
	w.watch = watch
	return &w
}

// Open opens the regular file that path, absolute and clean, leads to, for reading. It
// opens the file at the canonical path that was checked; if the path keeps changing
// meanwhile, it returns an error. The FileInfo is that of the open file. The Name of
// the file, cleaned, is the canonical path.
//
// An error of the Check is returned unchanged. A file that is not regular is a
// *KindError. Every other error is a *fs.PathError with the literal path.
func (f *Files) Open(path string) (*os.File, fs.FileInfo, error) {
	var opened fs.FileInfo
	file, _, err := f.open(path, func(info fs.FileInfo) error {
		opened = info
		if kind := kindOf(info.Mode()); kind != "" {
			return &KindError{Path: path, Kind: kind}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return file, opened, nil
}

// ReadDir returns the entries of the directory that path leads to, under the rules of
// Open and sorted by name: the first limit entries, or all if limit is not positive. If
// the path is not a directory, the error is a *fs.PathError with ENOTDIR.
func (f *Files) ReadDir(path string, limit int) ([]fs.DirEntry, error) {
	dir, canonical, err := f.open(path, func(info fs.FileInfo) error {
		if !info.IsDir() {
			return syscall.ENOTDIR
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	list, err := firstByName(dir, limit)
	if err != nil {
		return nil, &fs.PathError{Op: "reading directory", Path: path, Err: cause(err)}
	}
	for i, d := range list {
		list[i] = f.opener.entry(canonical, d)
	}
	return list, nil
}

// Allowed reports whether path can be resolved and the Check allows it, so that a hint
// never names a file that must not be read. The file need not exist.
func (f *Files) Allowed(path string) bool {
	canonical, err := Canonical(path)
	return err == nil && f.check(path, canonical) == nil
}

func (f *Files) open(path string, fits func(fs.FileInfo) error) (*os.File, string, error) {
	notLink := func(info fs.FileInfo) error {
		if info.Mode()&fs.ModeSymlink != 0 {
			return errMoved // a canonical path had no link when it was made
		}
		return fits(info)
	}
	for range maxAttempts {
		canonical, err := f.judge(path)
		if err != nil {
			return nil, "", err
		}
		file, err := f.opener.open(canonical, notLink)
		var kind *KindError
		switch {
		case err == nil:
			return file, canonical, nil
		case errors.As(err, &kind):
			return nil, "", err
		case !errors.Is(err, errMoved):
			return nil, "", &fs.PathError{Op: "opening", Path: path, Err: cause(err)}
		}
	}
	return nil, "", &fs.PathError{Op: "opening", Path: path, Err: errMoved}
}

// judge returns the canonical path if the Check allows it. A path that cannot be
// resolved is still checked as written, so that the reason, which reveals what exists,
// only reaches a caller that may read the path.
func (f *Files) judge(path string) (string, error) {
	canonical, err := Canonical(path)
	switch {
	case err == nil:
		return canonical, f.check(path, canonical)
	case errors.Is(err, errNUL) || errors.Is(err, errRelative):
		return "", err // not a path that can be checked
	}
	if denied := f.check(path, path); denied != nil {
		return "", denied
	}
	return "", err
}

// firstByName reads the whole directory but never stores much more than limit entries,
// so that the result does not depend on the order on disk.
func firstByName(dir *os.File, limit int) ([]fs.DirEntry, error) {
	var list []fs.DirEntry
	for {
		batch, err := dir.ReadDir(listBatch)
		list = append(list, batch...)
		done := err == io.EOF
		if err != nil && !done {
			return nil, err
		}
		if done || (limit > 0 && len(list)-limit >= max(limit, listBatch)) {
			slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
			if limit > 0 && len(list) > limit {
				clear(list[limit:])
				list = list[:limit]
			}
		}
		if done {
			return list, nil
		}
	}
}
