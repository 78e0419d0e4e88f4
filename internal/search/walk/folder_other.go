//go:build !linux

package walk

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// stampsReliable is false: a FileInfo has no ctime, so a folder whose mtime was set back
// would be considered unchanged.
const stampsReliable = false

var errMoved = errors.New("the folder was replaced while it was opened")

// folder is an open folder.
type folder struct{ root *os.Root }

// topFolder opens the folder that file has open again, by its name.
func topFolder(file *os.File) (folder, error) {
	want, err := file.Stat()
	if err != nil {
		return folder{}, err
	}
	root, err := os.OpenRoot(file.Name())
	if err != nil {
		return folder{}, err
	}
	return folder{root}.checked(want)
}

// checked returns f, or closes it and returns an error if it is not the folder want.
func (f folder) checked(want fs.FileInfo) (folder, error) {
	got, err := f.root.Stat(".")
	if err == nil && !os.SameFile(want, got) {
		err = errMoved
	}
	if err != nil {
		f.root.Close()
		return folder{}, err
	}
	return f, nil
}

// withoutNotify returns the same folder.
func (f folder) withoutNotify(bool) folder { return f }

// descriptor returns -1, for none: see package watch.
func (f folder) descriptor() int { return -1 }

func (f folder) closeTop() { f.close() }

func (f folder) close() { f.root.Close() }

// enter opens a folder below, one step after the other. An os.Root follows links, so
// each step is checked before and after.
func (f folder) enter(rel string) (folder, error) {
	if rel == "" {
		rel = "."
	}
	at := f
	for step := range strings.SplitSeq(rel, "/") {
		next, err := at.step(step)
		if at != f {
			at.close()
		}
		if err != nil {
			return folder{}, err
		}
		at = next
	}
	return at, nil
}

func (f folder) step(name string) (folder, error) {
	want, err := f.root.Lstat(name)
	if err != nil {
		return folder{}, err
	}
	if !want.IsDir() {
		return folder{}, fs.ErrNotExist
	}
	root, err := f.root.OpenRoot(name)
	if err != nil {
		return folder{}, err
	}
	return folder{root}.checked(want)
}

// read opens a folder below to list it.
func (f folder) read(rel string) (folder, error) { return f.enter(rel) }

// stat looks at the entry called name in dir, a path relative to f. Either may be "".
// It follows links except in the last element.
func (f folder) stat(dir, name string) (Stamp, kind, error) {
	info, err := f.root.Lstat(path.Join(".", dir, name))
	if err != nil {
		return Stamp{}, 0, err
	}
	return stampOf(info), kindOf(info.Mode()), nil
}

// stamp looks at the folder itself.
func (f folder) stamp() (Stamp, error) {
	s, _, err := f.stat("", "")
	return s, err
}

func stampOf(info fs.FileInfo) Stamp {
	return Stamp{Size: info.Size(), Mtime: info.ModTime().UnixNano()}
}

func kindOf(mode fs.FileMode) kind {
	switch {
	case mode.IsRegular():
		return kindFile
	case mode.IsDir():
		return kindDir
	case mode&fs.ModeSymlink != 0:
		return kindLink
	}
	return kindSpecial
}

// entries adds all entries of the folder to e.
func (f folder) entries(ctx context.Context, e *entries) error {
	file, err := f.root.Open(".")
	if err != nil {
		return err
	}
	defer file.Close()
	for ctx.Err() == nil {
		list, err := file.ReadDir(stride)
		for _, d := range list {
			e.add([]byte(d.Name()), 0, kindOf(d.Type()))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Handle is an open regular file.
type Handle struct{ file *os.File }

var errNotRegular = errors.New("not a regular file")

// open opens a regular file below f for reading. It checks the file before, because
// opening a FIFO might block, and after.
func (f folder) open(rel string) (Handle, error) {
	at := f
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		dir, err := f.enter(rel[:i])
		if err != nil {
			return Handle{}, err
		}
		defer dir.close()
		at, rel = dir, rel[i+1:]
	}
	want, err := at.root.Lstat(rel)
	if err != nil {
		return Handle{}, err
	}
	if !want.Mode().IsRegular() {
		return Handle{}, errNotRegular
	}
	file, err := at.root.Open(rel)
	if err != nil {
		return Handle{}, err
	}
	if got, err := file.Stat(); err != nil || !os.SameFile(want, got) {
		file.Close()
		return Handle{}, errMoved
	}
	return Handle{file}, nil
}

// Stamp returns the state of the file, or an error if the file is not regular.
func (h Handle) Stamp() (Stamp, error) {
	info, err := h.file.Stat()
	if err != nil {
		return Stamp{}, err
	}
	if !info.Mode().IsRegular() {
		return Stamp{}, errNotRegular
	}
	return stampOf(info), nil
}

// Read reads the next bytes, as [io.Reader] does.
func (h Handle) Read(p []byte) (int, error) { return h.file.Read(p) }

// ReadAt reads at an offset. Unlike [io.ReaderAt], it may return fewer bytes than
// requested without an error. At the end it returns io.EOF.
func (h Handle) ReadAt(p []byte, off int64) (int, error) {
	n, err := h.file.ReadAt(p, off)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// Close closes the file.
func (h Handle) Close() error { return h.file.Close() }
