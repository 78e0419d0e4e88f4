package filelock

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"mcp-toolset/internal/record/state"
)

// waiter tries to lock one lock file. It opens the file once, not for each
// attempt.
type waiter struct {
	dir, path string
	file      *os.File  // nil while it is not open
	checked   time.Time // when path was last known to lead to file
}

// try locks the file, and reports whether it is locked and still the one at
// path.
func (w *waiter) try() (bool, error) {
	if w.file != nil && time.Since(w.checked) > lookEvery && !w.current() {
		w.drop()
	}
	if w.file == nil {
		if err := w.open(); err != nil || w.file == nil {
			return false, err
		}
	}
	ok, err := TryLock(w.file)
	if ok && !w.current() {
		w.drop() // the folder was cleaned before the file was locked
		return false, nil
	}
	return ok, err
}

// open opens the lock file. It leaves file nil if the folder was removed at
// that moment.
func (w *waiter) open() error {
	if err := state.EnsurePrivate(w.dir); err != nil {
		return err
	}
	file, err := os.OpenFile(w.path, os.O_RDWR|os.O_CREATE|openFlags, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	w.file, w.checked = file, time.Now()
	return nil
}

// current reports whether path still leads to file.
func (w *waiter) current() bool {
	w.checked = time.Now()
	there, err := os.Stat(w.path)
	if err != nil {
		return false
	}
	mine, err := w.file.Stat()
	return err == nil && os.SameFile(mine, there)
}

// drop closes the file, which releases its lock.
func (w *waiter) drop() {
	if w.file != nil {
		_ = w.file.Close()
		w.file = nil
	}
}
