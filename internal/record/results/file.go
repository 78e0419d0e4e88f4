package results

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// File is a result that is stored piece by piece. It is for use by one goroutine.
type File struct {
	s    *Store
	f    *os.File
	size int64
}

// slack is the additional room that a File makes when the store is full, in bytes, because making
// room examines all files.
const slack = 16 << 20

// Create makes an empty file in dir, which must come from Hold. The name describes the result;
// Create makes it unique.
func (s *Store) Create(dir, name string) (*File, error) {
	return s.create(dir, name+".txt")
}

func (s *Store) create(dir, name string) (*File, error) {
	if err := s.reserve(0, 0); err != nil {
		return nil, err
	}
	f, err := create(s.newPath(dir, name))
	if err != nil {
		return nil, fmt.Errorf("storing a result: %w", err)
	}
	return &File{s: s, f: f}, nil
}

// Path returns the path of the file.
func (f *File) Path() string { return f.f.Name() }

// Size returns the number of bytes written.
func (f *File) Size() int64 { return f.size }

// Write appends to the file. If it fails, the file is unchanged.
func (f *File) Write(data []byte) (int, error) {
	n := int64(len(data))
	if err := f.s.reserve(n, slack); err != nil {
		return 0, err
	}
	if _, err := f.f.WriteAt(data, f.size); err != nil {
		f.s.store.Settle(n, 0)
		return 0, errors.Join(fmt.Errorf("storing a result: %w", err), f.f.Truncate(f.size))
	}
	f.s.store.Settle(n, n)
	f.size += n
	return len(data), nil
}

// Truncate removes what was written after the first size bytes.
func (f *File) Truncate(size int64) error {
	if err := f.f.Truncate(size); err != nil {
		return fmt.Errorf("storing a result: %w", err)
	}
	f.s.store.Return(f.size - size)
	f.size = size
	return nil
}

// Close closes the file for writing.
func (f *File) Close() error {
	f.s.store.Clean()
	return f.f.Close()
}

// SaveFile stores the bytes of r as a file of dir, which must come from Hold, completely or not
// at all. It returns the path. If a file of this name exists, r is not read.
func (s *Store) SaveFile(dir, name string, r io.Reader) (path string, err error) {
	path = filepath.Join(dir, name)
	if _, err := os.Lstat(path); err == nil {
		return path, nil
	}
	f, err := s.create(dir, name+".unfinished")
	if err != nil {
		return "", err
	}
	if _, err = io.Copy(f, r); err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(f.Path(), path)
	}
	if err != nil {
		f.Discard()
		return "", fmt.Errorf("storing a file: %w", err)
	}
	return path, nil
}

// Discard closes and removes the file.
func (f *File) Discard() {
	_ = f.f.Close()
	f.s.store.Clean()
	_ = f.s.store.Remove(f.f.Name())
}
