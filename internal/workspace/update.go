package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// ErrNoChange is for the change given to Update to return if the file is as it
// should be.
var ErrNoChange = errors.New("nothing to change")

// ErrProtected says that a file may not be written to, though its folder would
// allow replacing it. It is an fs.ErrPermission.
var ErrProtected = fmt.Errorf("file is write-protected: %w", fs.ErrPermission)

// ErrUnconfirmed says that the new file is in its place, for all to see, but
// that the system did not confirm that it would still be there after a loss of
// power.
var ErrUnconfirmed = errors.New("written, but not confirmed to be on disk")

// Old is the file that an Update is about to replace.
type Old struct {
	File *os.File    // for reading, until change returns
	Info fs.FileInfo // of the open file
}

// Written says what an Update did.
type Written struct {
	Path        string   // canonical
	Identity    Identity // of the file as it is now; zero if there is none, or it is not known
	Created     bool     // there was no file
	BrokeLink   bool     // the file had other hard links, which keep the old content
	DroppedBits bool     // setuid or setgid is not set any more
	NewOwner    bool     // it could not be given the old one's owner: it is our user's
	NewGroup    bool     // it could not be given the old one's group: its own may do no more than everybody
	MadeDirs    []string // folders that were missing, canonical, the upper ones first
}

// verdict is an error of change, which Update hands on as it is.
type verdict struct{ error }

// Update replaces the content of the regular file that path, absolute and
// clean, leads to, or creates the file and the folders it lacks. Whoever looks,
// also after a crash, finds the whole old file or the whole new one: the new
// content is written beside the old, synced, and takes its name in one step.
//
// change gets the open old file, nil if there is none, and returns the new
// content. With ErrNoChange everything stays as it is, which is no error; any
// other error of change is returned as it is. It is called again, with the file
// as it is by then, if somebody replaced or wrote to it meanwhile. Updates of one
// file take turns, by whatever names and in whatever process, as long as the
// system lets them lock it (see place.hold). What others do between the last
// look and the rename, some microseconds, goes unnoticed; but a file that was
// not there when change was called is never overwritten.
//
// The path is resolved and judged as by Open. A link is followed and stays; a
// link to nothing creates what it leads to. What is replaced is the file at the
// canonical path that was checked, through the open folder that holds it.
//
// Kept are permission bits (not setuid, setgid and sticky), owner and group
// where the system allows it, and on Linux the access control list and the
// user's extended attributes. If the group cannot be kept, the group that the
// file gets may do no more than everybody. Other hard links are left behind
// with the old content. A file that may not be written to in place is refused
// with ErrProtected: somebody protected it. Root may write to all.
//
// A refusal by the Check or by change and the error of ctx are returned as
// they are; anything but a regular file is a *KindError; every other error is
// a *fs.PathError with the literal path that keeps the system's error for
// errors.Is: ENOSPC, EDQUOT, EFBIG, EROFS, EACCES, EPERM for a file that cannot
// be changed or in a folder where everybody may only replace their own, EBUSY
// for a file that is mounted. After an error the file is as it was, with
// nothing beside it, but for ErrUnconfirmed, with which Written is filled in:
// syncing the folder comes last.
func (f *Files) Update(ctx context.Context, path string, change func(old *Old) ([]byte, error)) (Written, error) {
	patience := time.Now().Add(holdAll)
	for range maxAttempts {
		canonical, err := f.judge(path)
		if err != nil {
			return Written{}, err
		}
		written, err := f.replace(ctx, path, canonical, patience, change)
		var own verdict
		var kind *KindError
		switch {
		case err == nil:
			return written, nil
		case errors.Is(err, ErrUnconfirmed):
			return written, &fs.PathError{Op: "syncing", Path: path, Err: err}
		case errors.As(err, &own):
			return Written{}, own.error
		case errors.As(err, &kind):
			return Written{}, err
		case errors.Is(err, ctx.Err()):
			return Written{}, err
		case !errors.Is(err, errMoved):
			return Written{}, &fs.PathError{Op: "writing", Path: path, Err: cause(err)}
		}
	}
	return Written{}, &fs.PathError{Op: "writing", Path: path, Err: errMoved}
}

// replace is one attempt of an Update.
func (f *Files) replace(ctx context.Context, path, canonical string, patience time.Time, change func(*Old) ([]byte, error)) (w Written, err error) {
	p, err := f.find(canonical)
	if err != nil {
		return w, err
	}
	defer p.close()
	old, err := p.hold(ctx, path, patience)
	if err != nil {
		return w, err
	}
	w.Path = canonical
	if old != nil {
		// Open, and so locked, until the new file has its name, and so that no
		// other file gets its number meanwhile.
		defer old.File.Close()
		w.Identity = IdentityOf(old.Info)
		w.BrokeLink = links(old.File) > 1 // a link made later is a change, and seen as one
		w.DroppedBits = old.Info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0
	}
	content, err := change(old)
	switch {
	case errors.Is(err, ErrNoChange):
		return Written{Path: canonical, Identity: w.Identity}, nil
	case err != nil:
		return w, verdict{err}
	}
	if err := p.makeFolders(); err != nil {
		p.unmake()
		return w, err
	}
	f.swept.sweep(p)
	if err := p.put(ctx, content, old, &w); err != nil {
		p.unmake()
		return w, err
	}
	if old != nil {
		old.File.Close() // those who wait for its lock look for the new file
	}
	w.Created = old == nil
	w.MadeDirs = p.made()
	if err := p.sync(); err != nil {
		return w, fmt.Errorf("%w: %w", ErrUnconfirmed, cause(err))
	}
	return w, nil
}

// put makes content the file at p, if that is still old, and completes w.
func (p *place) put(ctx context.Context, content []byte, old *Old, w *Written) error {
	t, err := newTemp(p.dir, p.name, old != nil)
	if err != nil {
		return err
	}
	defer t.close()
	if old != nil {
		if w.NewOwner, w.NewGroup, err = keep(t, old); err != nil {
			return err
		}
	}
	if err := t.fill(content); err != nil {
		return err
	}
	if err := p.still(old); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := t.rename(p, old); err != nil {
		// Such as a folder that has just taken the name: that is judged anew.
		return errors.Join(p.still(old), err)
	}
	// Renaming changed one of the times, so they are asked for only now. The
	// file is written, so it is no error if they are not to be had.
	w.Identity = Identity{}
	if info, err := t.file.Stat(); err == nil {
		w.Identity = IdentityOf(info)
	}
	return nil
}
