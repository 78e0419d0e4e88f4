package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace atomically replaces a private file with data, so that a reader finds
// either the old or the new content, even after a crash. The folder must exist,
// and the caller must hold the lock of path.
func Replace(path string, data []byte) error { return ReplaceAs(path, data, 0o600) }

// ReplaceAs is Replace for a file with the given permissions.
func ReplaceAs(path string, data []byte, mode fs.FileMode) error {
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) { // left by a server that was killed
		return err
	}
	f, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if mode != 0o600 {
		err = errors.Join(err, f.Chmod(mode))
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	return syncFolder(filepath.Dir(path))
}

// ReadTrusted reads a file of up to most bytes that no other user could have
// written. If there is no file, the error is fs.ErrNotExist.
func ReadTrusted(path string, most int) ([]byte, fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a file") // opening it could block or follow a link
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", path, err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", path, err)
	}
	defer f.Close()
	opened, err := f.Stat()
	if err == nil {
		err = Trusted(opened)
	}
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(f, int64(most)+1))
	}
	if err == nil && len(data) > most {
		err = errors.New("it is too long")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return data, opened, nil
}

// Trusted returns an error if other users could have changed a file. It is
// meant for files that decide what is allowed.
func Trusted(info fs.FileInfo) error {
	switch {
	case !info.Mode().IsRegular():
		return errors.New("it is not a file")
	case !OwnedByUser(info):
		return errors.New("it belongs to another user; remove it")
	case othersWrite(info):
		return errors.New("other users can write to it; see what is in it and make its mode 600")
	}
	return nil
}
