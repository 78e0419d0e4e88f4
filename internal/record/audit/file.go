package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/record/state"
)

// The log on disk is append-only. Each batch of lines is appended by one write,
// so the lines of several servers do not mix. Only a server that rotates takes
// a lock. The others notice that the path names another file.

const (
	// lockWait is the timeout for another server to rotate, which takes a few
	// renames. Without the lock, lines go to the present file.
	lockWait = 500 * time.Millisecond
	// rotateAgain is the delay after a failed rotation.
	rotateAgain = time.Minute
	// tornWait is the timeout for another server to finish writing a line.
	tornWait = 100 * time.Millisecond
	// private is the mode of the log and its lock file.
	private = 0o600
)

// file is a sink that writes to the log file and rotates it.
type file struct {
	path     string
	max      int64 // size limit in bytes
	maxFiles int   // number of rotated files to retain
	durable  bool  // sync a file before leaving it for a new one
	log      *slog.Logger

	f       *os.File // nil until opened, and after an error of open
	info    fs.FileInfo
	torn    bool // the last line has no line break
	dirty   bool // there is data that is not synced
	patient time.Time
}

// open opens or creates the file at path, and checks that it can be trusted.
func (d *file) open() error {
	if err := checkFolder(filepath.Dir(d.path)); err != nil {
		return err
	}
	// Lstat comes first, because opening a device may have effects. openFlags
	// covers a change in between.
	if info, err := os.Lstat(d.path); err == nil && !info.Mode().IsRegular() {
		return check(info)
	}
	f, err := os.OpenFile(d.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|openFlags, private)
	if err != nil {
		return withoutPath(err)
	}
	info, err := f.Stat()
	if err == nil {
		err = check(info)
	}
	if err == nil {
		d.torn, err = staysTorn(f)
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	if d.durable && info.Size() == 0 {
		syncFolder(filepath.Dir(d.path))
	}
	d.f, d.info, d.dirty = f, info, false
	return nil
}

// withoutPath returns the error without the path, which the caller adds.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func check(info fs.FileInfo) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return errors.New("it is a link; name the file itself")
	case !info.Mode().IsRegular():
		return errors.New("it is not an ordinary file; name another")
	case !state.OwnedByUser(info):
		return errors.New("it belongs to another user; name another file")
	case othersWrite(info):
		return fmt.Errorf("others can write to it (mode %v); run chmod 600 on it", info.Mode().Perm())
	}
	return nil
}

// checkFolder rejects a folder in which every user can replace the log.
func checkFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no folder %s; make it first", dir)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", dir)
	case isWorldWritable(info):
		return fmt.Errorf("everybody can replace files in %s; use another folder", dir)
	}
	return nil
}

// staysTorn is like endsTorn for a file that other servers may be writing to.
// The file grows while a line is written, so a missing line break counts only
// if the size is unchanged for tornWait.
func staysTorn(f *os.File) (torn bool, err error) {
	last, since := int64(-1), time.Now()
	for ; ; time.Sleep(tornWait / 20) {
		info, err := f.Stat()
		if err != nil {
			return false, err
		}
		if torn, err = endsTorn(f, info.Size()); err != nil || !torn {
			return torn, err
		}
		if info.Size() != last {
			last, since = info.Size(), time.Now()
		} else if time.Since(since) > tornWait {
			return true, nil
		}
	}
}

// endsTorn reports whether a file's last line has no line break, because its
// writer's disk was full or power was lost.
func endsTorn(f *os.File, size int64) (bool, error) {
	if size == 0 {
		return false, nil
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], size-1); err != nil {
		return false, err
	}
	return last[0] != '\n', nil
}

// append writes complete lines. If it fails, some of them may have been
// written.
func (d *file) append(lines []byte) error {
	size, err := d.current()
	if err != nil {
		return err
	}
	if size > 0 && size+int64(len(lines)) > d.max && time.Now().After(d.patient) {
		if err := d.rotate(size); err != nil {
			d.patient = time.Now().Add(rotateAgain)
			d.log.Warn("the audit log is not rotated and grows", "path", d.path, "bytes", size, "error", err)
		}
		if _, err := d.current(); err != nil {
			return err
		}
	}
	if d.torn {
		lines = append([]byte{'\n'}, lines...)
	}
	n, err := d.f.Write(lines)
	if n > 0 {
		d.dirty, d.torn = true, lines[n-1] != '\n'
	}
	if d.torn {
		d.truncateTorn(int64(n - 1 - bytes.LastIndexByte(lines[:n], '\n')))
	}
	return withoutPath(err)
}

// truncateTorn truncates an incomplete line at the end, unless another server has
// written after it. A write between the check and the truncation would be lost.
// It needs room on the disk that becomes free at just that moment.
func (d *file) truncateTorn(length int64) {
	end, err := d.f.Seek(0, io.SeekCurrent)
	if err != nil {
		return
	}
	if info, err := d.f.Stat(); err == nil && info.Size() == end && d.f.Truncate(end-length) == nil {
		d.torn = false
	}
}

// current makes sure that the open file is the one at path, and returns its
// size.
func (d *file) current() (int64, error) {
	info, err := os.Lstat(d.path)
	if d.f != nil && err == nil && os.SameFile(info, d.info) {
		return info.Size(), nil
	}
	if d.f != nil {
		if !d.rotated() {
			d.log.Warn("the audit log was moved or removed, a new one is begun", "path", d.path)
		}
		d.closeFile()
	}
	if err := d.open(); err != nil {
		return 0, err
	}
	return d.info.Size(), nil
}

// rotated reports whether the open file is one of the rotated files.
func (d *file) rotated() bool {
	for i := 1; i <= d.maxFiles; i++ {
		if info, err := os.Lstat(d.old(i)); err == nil && os.SameFile(info, d.info) {
			return true
		}
	}
	return false
}

// closeFile closes the open file.
func (d *file) closeFile() {
	if d.durable {
		_ = d.sync()
	}
	_ = d.f.Close()
	d.f = nil
}

func (d *file) old(i int) string { return d.path + "." + strconv.Itoa(i) }

// rotate renames the present file, unless another server has just done so. size
// is the size that the caller saw. There may be no open file afterwards.
func (d *file) rotate(size int64) error {
	lock, err := os.OpenFile(d.path+".lock", os.O_RDWR|os.O_CREATE|openFlags, private)
	if err != nil {
		return fmt.Errorf("locking: %w", err)
	}
	defer lock.Close() // closing releases the lock
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	if err := filelock.Lock(ctx, lock); err != nil {
		return fmt.Errorf("locking: %w", err)
	}
	if info, err := os.Lstat(d.path); err != nil || !os.SameFile(info, d.info) || info.Size() < size {
		return nil
	}
	d.closeFile() // on some systems, an open file cannot be renamed
	for i := d.maxFiles - 1; i >= 1; i-- {
		if err := os.Rename(d.old(i), d.old(i+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(d.path, d.old(1))
}

func (d *file) sync() error {
	if d.f == nil || !d.dirty {
		return nil
	}
	if err := d.f.Sync(); err != nil {
		return err
	}
	d.dirty = false
	return nil
}

func (d *file) close() error {
	if d.f == nil {
		return nil
	}
	err := d.f.Close()
	d.f = nil
	return err
}
