package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// ErrNoChange is returned by the change function of Update if the file needs no change.
var ErrNoChange = errors.New("nothing to change")

// ErrProtected is the error for a file that is write-protected although its folder
// permits replacing it. It is an fs.ErrPermission.
var ErrProtected = fmt.Errorf("file is write-protected: %w", fs.ErrPermission)

// ErrUnconfirmed is the error if the new file is in place and visible to all, but the
// system did not confirm that it would survive a loss of power.
var ErrUnconfirmed = errors.New("written, but not confirmed to be on disk")

// Old is the file that an Update is about to replace.
type Old struct {
	File *os.File    // for reading, until change returns
	Info fs.FileInfo // of the open file
}

// Written describes the effect of an Update.
type Written struct {
	Path        string   // canonical
	Identity    Identity // of the file after the call; zero if there is none or it is unknown
	Created     bool     // there was no file
	BrokeLink   bool     // the file had other hard links, which still have the old content
	DroppedBits bool     // setuid or setgid was removed
	NewOwner    bool     // the old owner could not be set: the owner is our user
	NewGroup    bool     // the old group could not be set: the new group has no more rights than others
	InPlace     bool     // the file is a mount point and was written in place
	Torn        bool     // the content is neither the old nor the new one: see ErrTorn
	Writer      bool     // another program had the file open for writing; it writes on to the old file
	MadeDirs    []string // folders that were made, canonical, outermost first
}

// verdict wraps an error of change, which Update returns unchanged.
type verdict struct{ error }

// Update replaces the content of the regular file that path, absolute and clean, leads
// to, or creates the file and its missing folders. It is an atomic write: readers see
// either the whole old file or the whole new one, even after a crash. The new content
// is written to a temporary file beside the old one, synced, and renamed.
//
// change gets the open old file, or nil if there is none, and returns the new content.
// If it returns ErrNoChange, Update changes nothing and returns no error. Any other
// error of change is returned unchanged. If another process replaces or writes to the
// file meanwhile, Update calls change again with the new state. Updates of one file
// take turns, by whatever names and in whatever process, as long as the system supports
// locks on it (see place.hold). Changes by others between the last check and the
// rename, some microseconds, are not detected. But a file that did not exist when
// change was called is never overwritten.
//
// The path is resolved and checked as by Open. A link is followed and stays; a link to
// nothing creates its target. Update replaces the file at the canonical path that was
// checked, through the open folder that holds it.
//
// The new file gets the permission bits (not setuid, setgid and sticky) and, where the
// system permits, the owner and group of the old one. On Linux it also gets the access
// control list and the user's extended attributes. If the group cannot be set, the new
// group gets no more rights than others have. Other hard links still have the old
// content. A file that may not be written to in place was protected on purpose: the
// error is ErrProtected. Root may write to all files.
//
// Errors of the Check, of change and of ctx are returned unchanged. A file that is not
// regular is a *KindError. Every other error is a *fs.PathError with the literal path
// that wraps the system's error: ENOSPC, EDQUOT, EFBIG, EROFS, EACCES, or EPERM for a file
// that cannot be changed or is in a folder where users may only replace their own files.
// After an error the file is unchanged and no temporary file is left. The exceptions are
// ErrUnconfirmed, with which Written is filled in, since syncing the folder is the last
// step, and ErrTorn.
//
// A file that is a mount point cannot be replaced. It is written in place, so that other
// programs may see a part of the change. If that fails, the old content is restored; if that
// fails, too, the error is ErrTorn.
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

// replace makes one attempt of an Update.
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
		// The old file stays open until the rename: so it stays locked, and no other
		// file gets its inode number meanwhile.
		defer old.File.Close()
		w.Identity = IdentityOf(old.Info)
		w.BrokeLink = links(old.File) > 1 // a link made later changes the file and is detected as a change
		w.Writer = writer(old.File)
		w.DroppedBits = old.Info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0
	}
	content, err := change(old)
	switch {
	case errors.Is(err, ErrNoChange):
		return Written{Path: canonical, Identity: w.Identity}, nil
	case err != nil:
		return w, verdict{err}
	}
	var done func(Written)
	if f.watch != nil {
		// What old has is what is replaced: otherwise, the check before the rename fails.
		done = f.watch(canonical, old, content)
	}
	if err := p.makeFolders(); err != nil {
		p.unmake()
		return w, err
	}
	f.swept.sweep(p)
	if err := p.replace(ctx, content, old, f.private, &w); err != nil {
		if errors.Is(err, ErrTorn) && done != nil {
			w.Torn = true
			done(w)
		}
		p.unmake()
		return w, err
	}
	if old != nil {
		old.File.Close() // waiters for its lock then open the new file
	}
	w.Created = old == nil
	w.MadeDirs = p.made()
	if done != nil {
		done(w)
	}
	if err := p.sync(); err != nil {
		return w, fmt.Errorf("%w: %w", ErrUnconfirmed, cause(err))
	}
	return w, nil
}

// replace makes content the file at p, if that is still old, and completes w.
func (p *place) replace(ctx context.Context, content []byte, old *Old, private bool, w *Written) error {
	if old != nil && mounted(p.dir, p.name) {
		return p.inPlace(content, old, w)
	}
	t, err := newTemp(p.dir, p.name, private || old != nil)
	if err != nil {
		return err
	}
	defer t.close()
	if old != nil {
		if w.NewOwner, w.NewGroup, err = copyMetadata(t, old); err != nil {
			return err
		}
	}
	if err := t.fill(content); err != nil {
		return err
	}
	if err := p.checkUnchanged(old); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := t.rename(p, old); err != nil {
		// For example, a folder has just taken the name: that is checked again.
		return errors.Join(p.checkUnchanged(old), err)
	}
	// The rename changed one of the times, so they are read only now. The file is
	// written, so it is no error if that fails.
	w.Identity = Identity{}
	if info, err := t.file.Stat(); err == nil {
		w.Identity = IdentityOf(info)
	}
	return nil
}
