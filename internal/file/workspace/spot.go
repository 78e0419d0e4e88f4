package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ErrDiffers is the error of a Spot's operation if the name holds something else than the
// caller's check accepts. Nothing has changed then.
var ErrDiffers = errors.New("it has changed meanwhile")

// Spot is one name in an open folder of a root, for putting back earlier states. Its
// operations follow no link, neither in the path of the folder nor in the name. They replace
// or remove only what a check has accepted after it was taken away from the name, so that
// content that another process puts there in the meantime is not lost.
type Spot struct {
	dir  *os.Root
	name string
}

// spotEnd ends the names that a Spot uses for a moment, also for what it takes away. A sweep does
// not remove them: see Leftovers.
const spotEnd = ".undo"

func spotName(of string) string { return strings.TrimSuffix(tempName(of), tempEnd) + spotEnd }

// IsSpotName reports whether a name is one that a Spot uses for a moment.
func IsSpotName(name string) bool {
	stem, ok := strings.CutSuffix(name, spotEnd)
	return ok && name[0] == '.' && IsTempName(stem+tempEnd)
}

// Leftovers returns what operations of Spots in a folder have left that were killed. The caller
// must close them, and no such operation may run. Incomplete files are removed.
func (r *Roots) Leftovers(folder string) (out []*Spot, err error) {
	if _, ok := r.containing(folder); !ok {
		return nil, fmt.Errorf("%s is not below a root", folder)
	}
	dir, err := r.opener.folder(folder)
	if err != nil {
		return nil, cause(err)
	}
	defer dir.Close()
	f, err := dir.Open(".")
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	for _, name := range names {
		if IsTempName(name) {
			removeLeftover(dir, name, time.Now().Add(sweepAge))
		}
		if IsSpotName(name) {
			if s, err := r.Spot(join(folder, name)); err == nil {
				out = append(out, s)
			}
		}
	}
	return out, err
}

// Look gives a check access to what was found at a name.
type Look struct {
	Info fs.FileInfo
	spot *Spot
}

// Open opens the regular file that was found.
func (l *Look) Open() (*os.File, error) { return l.spot.open(l.Info) }

// Target returns the target of the symbolic link that was found.
func (l *Look) Target() (string, error) { return l.spot.dir.Readlink(l.spot.name) }

// Spot opens the folder of a canonical path. The path must be below a root. The error is
// fs.ErrNotExist if the folder does not exist, or a link or a file is in its place.
func (r *Roots) Spot(canonical string) (*Spot, error) {
	root, ok := r.containing(canonical)
	if !ok || root.path == canonical || filepath.Clean(canonical) != canonical {
		return nil, fmt.Errorf("%s is not below a root", canonical)
	}
	dir, err := r.opener.folder(filepath.Dir(canonical))
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, errMoved) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, cause(err)
	}
	return &Spot{dir, filepath.Base(canonical)}, nil
}

// OpenRegular opens the regular file at a canonical path for reading, without following
// links.
func (r *Roots) OpenRegular(canonical string) (*os.File, error) {
	file, err := r.opener.open(canonical, func(info fs.FileInfo) error {
		if !info.Mode().IsRegular() {
			return errMoved
		}
		return nil
	})
	if err != nil {
		return nil, cause(err)
	}
	return file, nil
}

// Sync makes the names in the folder survive a crash of the system.
func (s *Spot) Sync() error { return cause(syncFolder(s.dir)) }

// Close closes the folder.
func (s *Spot) Close() { s.dir.Close() }

// Look returns what is at the name, or nil if there is nothing.
func (s *Spot) Look() (*Look, error) {
	info, err := s.dir.Lstat(s.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, cause(err)
	}
	return &Look{info, s}, nil
}

func (s *Spot) open(seen fs.FileInfo) (*os.File, error) {
	file, err := openIn(s.dir, s.name, func(info fs.FileInfo) error {
		if !info.Mode().IsRegular() || !os.SameFile(seen, info) {
			return ErrDiffers
		}
		return nil
	})
	if err != nil {
		return nil, cause(err)
	}
	return file, nil
}

// Owner is the user and the group of a file.
type Owner struct{ User, Group int }

// PutFile puts a file with the content and the permission bits of mode at the name. The
// content is synced before the file gets the name. check is as in Remove; if it is nil, the
// name must be free. The owner is set as far as the system permits; if it cannot be set, the
// file gets no setuid and setgid bits. A file that is a mount point is written in place, as by
// Update.
func (s *Spot) PutFile(content io.Reader, mode fs.FileMode, owner Owner, check func(*Look) error) error {
	if check != nil && mounted(s.dir, s.name) {
		return cause(s.overwrite(content, mode, check))
	}
	t, err := newTemp(s.dir, s.name, true)
	if err != nil {
		return cause(err)
	}
	defer t.close()
	if _, err = io.Copy(t.file, content); err != nil {
		return cause(err)
	}
	if err := setOwner(t.file, owner); err != nil {
		mode &^= fs.ModeSetuid | fs.ModeSetgid
	}
	if err = t.file.Chmod(mode); err == nil || errors.Is(err, errors.ErrUnsupported) {
		err = storeContent(t.file)
	}
	if err != nil {
		return cause(err)
	}
	// Only what is complete gets a name under which it could be taken for something taken away.
	ready := spotName(s.name)
	if err := renameNew(s.dir, t.name, ready); err != nil {
		return cause(err)
	}
	t.name = ""
	return s.place(ready, check)
}

// PutLink puts a symbolic link at the name, as PutFile does a file.
func (s *Spot) PutLink(target string, check func(*Look) error) error {
	return s.put(func(temp string) error { return s.dir.Symlink(target, temp) }, check)
}

// PutHardLink makes the name another name of the file at from, if check accepts that file.
// The name must be free, unless over is not nil: that check is as in Remove.
func (s *Spot) PutHardLink(from *Spot, check, over func(*Look) error) error {
	return s.put(func(temp string) error {
		if err := hardLink(from, s.dir, temp); err != nil {
			return err
		}
		look, err := (&Spot{s.dir, temp}).Look()
		if err == nil && look == nil {
			err = ErrDiffers
		}
		if err == nil {
			err = check(look)
		}
		return err
	}, over)
}

func (s *Spot) put(create func(temp string) error, check func(*Look) error) error {
	temp := spotName(s.name)
	if err := create(temp); err != nil {
		_ = s.dir.Remove(temp)
		return cause(err)
	}
	return s.place(temp, check)
}

// place gives the temporary file its name or, after an error, removes it. What had the name before
// is removed after check has accepted it.
func (s *Spot) place(temp string, check func(*Look) error) error {
	mine, err := s.dir.Lstat(temp)
	if err != nil {
		return cause(err)
	}
	defer func() { // by now, temp may be the name of the file that was taken away
		if now, err := s.dir.Lstat(temp); err == nil && os.SameFile(now, mine) {
			_ = s.dir.Remove(temp)
		}
	}()
	if check == nil {
		err := renameNew(s.dir, temp, s.name)
		if errors.Is(err, fs.ErrExist) {
			return ErrDiffers
		}
		return cause(err)
	}
	// A first look, so that a difference is usually found before anything moves.
	if err := s.accepted(check); err != nil {
		return err
	}
	err = swapNames(s.dir, temp, s.name)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, errInvalid) {
		return cause(s.dir.Rename(temp, s.name)) // as Update does; the look was microseconds ago
	}
	if err != nil {
		return cause(err)
	}
	taken := &Spot{s.dir, temp}
	if err := taken.accepted(check); err != nil {
		if back := swapNames(s.dir, temp, s.name); back != nil {
			return errors.Join(err, taken.save(s.name))
		}
		if now, lost := s.dir.Lstat(temp); lost != nil || !os.SameFile(now, mine) {
			return errors.Join(err, taken.save(s.name)) // a third file took the name meanwhile
		}
		return err
	}
	return cause(s.dir.Remove(temp))
}

// save gives the file at the spot a name that no sweep removes, and returns an error with it.
func (s *Spot) save(of string) error {
	name := spotName(of)
	name = name[1:len(name)-len(spotEnd)] + ".saved"
	if err := renameNew(s.dir, s.name, name); err != nil {
		return fmt.Errorf("the file is now at %s; ask the user to rename it back: %w", s.name, cause(err))
	}
	return fmt.Errorf("the file is now at %s; rename it back", name)
}

func (s *Spot) accepted(check func(*Look) error) error {
	look, err := s.Look()
	switch {
	case err != nil:
		return err
	case look == nil:
		return ErrDiffers
	}
	return check(look)
}

// Remove removes the file or symbolic link at the name. check accepts what was found there,
// or returns an error, which Remove returns. It is called twice, the second time for what was
// taken away from the name.
func (s *Spot) Remove(check func(*Look) error) error {
	if err := s.accepted(check); err != nil {
		return err
	}
	taken := &Spot{s.dir, spotName(s.name)}
	if err := renameNew(s.dir, s.name, taken.name); err != nil {
		return cause(err)
	}
	if err := taken.accepted(check); err != nil {
		if back := renameNew(s.dir, taken.name, s.name); back != nil {
			return errors.Join(err, taken.save(s.name))
		}
		return err
	}
	return cause(s.dir.Remove(taken.name))
}

// RemoveFolder removes the folder at the name if it is empty.
func (s *Spot) RemoveFolder() error { return cause(removeEmpty(s.dir, s.name)) }

// MakeFolder makes a folder at the name, which must be free.
func (s *Spot) MakeFolder() error { return cause(s.dir.Mkdir(s.name, 0o700)) }

// SetMode sets the permission bits of the file or folder at the name, if check accepts it.
func (s *Spot) SetMode(mode fs.FileMode, check func(*Look) error) error {
	look, err := s.Look()
	if err == nil && look == nil {
		err = ErrDiffers
	}
	if err != nil {
		return err
	}
	if err := check(look); err != nil {
		return err
	}
	return cause(setMode(s.dir, s.name, look.Info, mode))
}
