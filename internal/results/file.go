package results

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// File is a result that is stored piece by piece. It is for use by one goroutine.
type File struct {
	s     *Store
	f     *os.File
	size  int64
	first bool // whether it is the server's first result, after which other servers' results are cleaned
}

// slack is the additional room that a File makes when the store is full, in bytes, because making
// room examines all files.
const slack = 16 << 20

// Create makes an empty file in dir, which must come from Hold. The name describes the result;
// Create makes it unique.
func (s *Store) Create(dir, name string) (*File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first, err := s.makeRoom(0, 0)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the results folder: %w", err)
	}
	s.count++
	path := filepath.Join(dir, fmt.Sprintf("%04d-%s.txt", s.count, name))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("storing a result: %w", err)
	}
	return &File{s: s, f: f, first: first}, nil
}

// Path returns the path of the file.
func (f *File) Path() string { return f.f.Name() }

// Size returns the number of bytes written.
func (f *File) Size() int64 { return f.size }

// Write appends to the file. If it fails, the file is unchanged.
func (f *File) Write(data []byte) (int, error) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if _, err := f.s.makeRoom(int64(len(data)), slack); err != nil {
		return 0, err
	}
	if _, err := f.f.WriteAt(data, f.size); err != nil {
		return 0, errors.Join(fmt.Errorf("storing a result: %w", err), f.f.Truncate(f.size))
	}
	f.size += int64(len(data))
	f.s.stored(int64(len(data)), false)
	return len(data), nil
}

// Truncate removes what was written after the first size bytes.
func (f *File) Truncate(size int64) error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if err := f.f.Truncate(size); err != nil {
		return fmt.Errorf("storing a result: %w", err)
	}
	f.s.used -= f.size - size
	f.size = size
	return nil
}

// Close closes the file for writing.
func (f *File) Close() error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.s.stored(0, f.first)
	return f.f.Close()
}

// Discard closes and removes the file.
func (f *File) Discard() {
	_ = f.f.Close()
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.s.stored(0, f.first)
	if os.Remove(f.f.Name()) == nil {
		f.s.used -= f.size
	}
}
