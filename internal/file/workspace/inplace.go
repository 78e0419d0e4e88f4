package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrTorn is the error for a file that was to be written in place, is written in part, and
// could not be restored.
var ErrTorn = errors.New("written in part, and the old content could not be restored")

// Tests replace these to simulate a disk that fails.
var (
	writeAt  = (*os.File).WriteAt
	truncate = (*os.File).Truncate
)

// overwrite replaces the content of a file that is open for reading and writing, and syncs it.
// First it writes what makes the file longer, which fails if there is no room, and only then
// over the old content. After an error the file has the old content, or the error is ErrTorn.
func overwrite(file *os.File, size int64, content []byte) error {
	both := min(size, int64(len(content)))
	old := make([]byte, both)
	if _, err := io.ReadFull(io.NewSectionReader(file, 0, both), old); err != nil {
		return err
	}
	err := func() error {
		if _, err := writeAt(file, content[both:], size); int64(len(content)) > size && err != nil {
			return err
		}
		if _, err := writeAt(file, content[:both], 0); err != nil {
			return err
		}
		if err := storeContent(file); err != nil {
			return err
		}
		if size > both { // last, since what is cut off is in no copy
			return truncate(file, both)
		}
		return nil
	}()
	if err == nil {
		return storeContent(file)
	}
	_, back := writeAt(file, old, 0)
	if back == nil && int64(len(content)) > size {
		back = truncate(file, size)
	}
	if back == nil {
		back = storeContent(file)
	}
	if back != nil {
		return fmt.Errorf("%w: %w; %w", ErrTorn, cause(err), cause(back))
	}
	return err
}

// inPlace makes content the content of old, which is a mount point.
func (p *place) inPlace(content []byte, old *Old, w *Written) error {
	if err := p.checkUnchanged(old); err != nil {
		return err
	}
	file, err := openMounted(p.dir, p.name)
	if err != nil {
		return unlessGone(err)
	}
	defer file.Close()
	now, err := file.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(now, old.Info) || IdentityOf(now) != IdentityOf(old.Info) {
		return errMoved
	}
	w.InPlace, w.BrokeLink, w.Writer, w.DroppedBits = true, false, false, false
	err = overwrite(file, now.Size(), content)
	w.Identity = Identity{}
	if now, failed := file.Stat(); failed == nil {
		w.Identity = IdentityOf(now)
	}
	return err
}

// overwrite replaces the content and the mode of a regular file that is a mount point, if
// check accepts it.
func (s *Spot) overwrite(content io.Reader, mode fs.FileMode, check func(*Look) error) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	look, err := s.Look()
	if err == nil && look == nil {
		err = ErrDiffers
	}
	if err == nil {
		err = check(look)
	}
	if err != nil {
		return err
	}
	file, err := openMounted(s.dir, s.name)
	if err != nil {
		return err
	}
	defer file.Close()
	now, err := file.Stat()
	switch {
	case err != nil:
		return err
	case !os.SameFile(now, look.Info) || IdentityOf(now) != IdentityOf(look.Info):
		return ErrDiffers
	}
	if err := overwrite(file, now.Size(), data); err != nil || now.Mode() == mode {
		return err
	}
	return file.Chmod(mode)
}
