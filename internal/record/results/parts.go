package results

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// SaveParts writes the pieces that next returns, until io.EOF, to numbered files of a new folder in
// dir, which must come from Hold. It returns the folder and its number of files. If a folder of
// this name exists, it holds the same pieces, and next is not called. Other folders whose names
// begin with family and a hyphen hold earlier states of the same text; SaveParts removes them. If
// next or writing fails, no new folder remains.
func (s *Store) SaveParts(dir, family, name string, next func() (string, error)) (folder string, count int, err error) {
	folder = filepath.Join(dir, name)
	if there, err := os.ReadDir(folder); err == nil {
		return folder, len(there), nil
	}
	former, _ := filepath.Glob(filepath.Join(dir, family+"-*"))
	for _, f := range former {
		if err := s.discard(f); err != nil {
			return "", 0, err
		}
	}
	unfinished := s.newPath(dir, name+".unfinished")
	if count, err = s.saveAll(unfinished, next); err != nil {
		return "", 0, errors.Join(err, s.discard(unfinished))
	}
	if err = os.Rename(unfinished, folder); errors.Is(err, fs.ErrExist) {
		err = s.discard(unfinished) // another call was first
	}
	if err != nil {
		return "", 0, fmt.Errorf("storing parts: %w", err)
	}
	return folder, count, nil
}

func (s *Store) saveAll(folder string, next func() (string, error)) (count int, err error) {
	for {
		part, err := next()
		if err == io.EOF {
			return count, nil
		}
		if err != nil {
			return 0, err
		}
		count++
		if err := s.write(filepath.Join(folder, fmt.Sprintf("part-%04d.txt", count)), part); err != nil {
			return 0, err
		}
	}
}

// discard removes a folder and returns its bytes to the quota.
func (s *Store) discard(folder string) error {
	if err := s.store.Remove(folder); err != nil {
		return fmt.Errorf("removing what could not be stored whole: %w", err)
	}
	return nil
}
