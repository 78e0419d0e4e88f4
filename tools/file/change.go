// Package file holds the common parts of tools that work on one file: checking a path,
// explaining a missing file, changing a file, and describing the change.
//
// Options.Change is the one path for Write, Edit and NotebookEdit. It takes the lock of the
// canonical path, opens the old file, compares it with the session's read record (by
// hash, not by time), makes the new content, and replaces the file. The old file itself
// is locked too, and a new file gets its name only if nobody has it: servers with
// different state folders and paths (a container, a bind mount) lose no update either.
//
// A read record is one state of a file, and the parts of a later state that were shown.
// After an edit of a file that the session had not read, it still has not read the rest.
// A changed file is edited only where the text stood once when it was read and stands
// once now, on lines that did not change. The pipeline looks at a written file again
// after the hooks, so that the work of a formatter is not taken for a change by others.
package file

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"time"

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/file/snapshot"
	"mcp-toolset/internal/file/textfile"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
	"mcp-toolset/tools"
)

// MaxEdit is the limit of files that can be edited, in bytes. An edit holds several copies
// in memory.
const MaxEdit = 64 << 20

// Knowledge is the state of a session's read record of a file.
type Knowledge int

// The states of a read record.
const (
	Unread  Knowledge = iota // the session has not read the file
	Current                  // the session has read or written the present content
	Stale                    // the file has changed since the session read it
)

// Old describes a file before its change.
type Old struct {
	path     string // canonical
	Exists   bool
	Size     int64
	Data     []byte // nil for a file over MaxEdit
	Known    Knowledge
	Moved    bool           // cells have moved since the notebook was shown
	Hint     textfile.Hint  // on its encoding
	parts    []session.Part // parts of a stale file that were shown in its present state
	Snapshot []byte         // snapshot of a stale file as it was read; nil if there is none
}

// Options holds the settings and services of the tools that change files. A call requires
// Locks.
type Options struct {
	Guard     Guard           // what a session must have read of a file before it changes it
	Locks     *filelock.Locks // locks files against all servers of this user
	Snapshots *snapshot.Cache // contents of files as they were read or written; nil: none
	// Notify is called after a change, without a lock, and returns notes for the answer, such as
	// on errors that the change caused. nil: none.
	Notify func(context.Context, *tools.Env, Changed) []string

	held bool // the locks are held: see Hold
}

// Hold locks several files, by their canonical paths, until release is called. Meanwhile, only
// held may change them.
func (o Options) Hold(ctx context.Context, paths ...string) (held Options, release func(), err error) {
	if release, err = o.Locks.LockAll(ctx, paths...); err != nil {
		return o, nil, lockError(ctx, "a file of the change", err)
	}
	o.held = true
	return o, release, nil
}

// Changed describes the change of a file.
type Changed struct {
	Path      string // as in the call
	Old       Old
	Data      []byte // the new content
	Unchanged bool   // Data is the old content, and nothing was written
	Written   workspace.Written
	Effect    session.Effect

	snapshots *snapshot.Cache // as in Options
	notes     []string        // of Options.Notify
}

// Change replaces the content of the file at path, or creates the file. It calls make with
// the old content; make returns the new one. Meanwhile the call holds the file's lock, so
// that no other server of this user changes the file. Errors of make are returned
// unchanged, and nothing is written. Content equal to the old one is not written.
func (o Options) Change(ctx context.Context, env *tools.Env, path string, make func(Old) ([]byte, error)) (Changed, error) {
	c, err := o.change(ctx, env, path, make)
	if err == nil && o.Notify != nil {
		c.notes = o.Notify(ctx, env, c)
	}
	return c, err
}

func (o Options) change(ctx context.Context, env *tools.Env, path string, make func(Old) ([]byte, error)) (Changed, error) {
	canonical, err := workspace.Canonical(path)
	if err != nil {
		canonical = path // Update returns the error
	}
	if !o.held {
		release, err := o.Locks.Lock(ctx, canonical)
		if err != nil {
			return Changed{}, lockError(ctx, path, err)
		}
		defer release()
	}
	c := Changed{Path: path, snapshots: o.Snapshots}
	c.Written, err = env.Files.Update(ctx, path, func(f *workspace.Old) ([]byte, error) {
		var err error
		if c.Old, err = o.look(env, canonical, f); err != nil {
			return nil, ReadError(plain.Line(path), err)
		}
		c.Data, err = make(c.Old)
		if c.Unchanged = err == nil && c.Old.Data != nil && bytes.Equal(c.Data, c.Old.Data); c.Unchanged {
			err = workspace.ErrNoChange
		}
		return c.Data, err
	})
	if err != nil && !errors.Is(err, workspace.ErrUnconfirmed) {
		return Changed{}, writeError(path, err)
	}
	hash := sha256.Sum256(c.Data)
	o.Snapshots.Put(hash, c.Data)
	c.Effect = session.Effect{Reads: []session.Read{{
		Path: c.Written.Path, File: c.Written.Identity, Hash: hash, At: time.Now(), Wrote: true,
	}}}
	if err != nil {
		return Changed{}, &tools.Recorded{Err: unconfirmed(path, err), Effect: c.Partly(nil)}
	}
	return c, nil
}

// Partly returns the effect of a change of a part of the file: parts that the session had
// not read stay unread. seen is the session's snapshot with the same change applied, or nil
// if there is none.
func (c Changed) Partly(seen []byte) session.Effect {
	switch {
	case !c.Old.Exists || c.Old.Size == 0 || c.Old.Known == Current:
		return c.Effect
	case c.Old.Known == Unread || seen == nil:
		return session.Effect{}
	}
	r := c.Effect.Reads[0]
	r.Hash, r.File, r.Wrote = sha256.Sum256(seen), workspace.Identity{}, false // no file had this content
	c.snapshots.Put(r.Hash, seen)
	return session.Effect{Reads: []session.Read{r}}
}

// look reads the old file and determines what the session knows of it.
func (o Options) look(env *tools.Env, canonical string, f *workspace.Old) (Old, error) {
	if f == nil {
		return Old{}, nil
	}
	old := Old{path: canonical, Exists: true, Size: f.Info.Size()}
	if old.Size <= MaxEdit {
		var data bytes.Buffer
		data.Grow(int(old.Size) + bytes.MinRead)
		if _, err := data.ReadFrom(io.LimitReader(f.File, MaxEdit+1)); err != nil {
			return old, err
		}
		if data.Len() <= MaxEdit { // the file may be growing
			old.Data = data.Bytes()
			old.Hint = Hint(env.Files, canonical, old.Data)
		}
	}
	had, ok := env.Session.Seen(canonical)
	old.Moved = had.Moved
	switch {
	case !ok:
		return old, nil
	case had.Hash != snapshot.Hash{} && old.Data != nil:
		// The content decides, since a change can leave the times unchanged.
		now := sha256.Sum256(old.Data)
		old.Known = Stale
		switch {
		case now == had.Hash:
			old.Known = Current
		case now == had.Later && len(had.Parts) > 0:
			old.parts = had.Parts
		}
	case had.File == workspace.IdentityOf(f.Info) && !had.File.Fresh(had.At):
		old.Known = Current
	default:
		old.Known = Stale
	}
	if old.Known == Stale {
		old.Snapshot, _ = o.Snapshots.Get(had.Hash)
	}
	if len(old.parts) > 0 {
		switch snapshot, all := old.catchUp(); {
		case all:
			old.Known, old.Snapshot = Current, nil
		case snapshot != nil:
			old.Snapshot = snapshot
		}
	}
	return old, nil
}

// lockError returns the error for a lock that could not be taken.
func lockError(ctx context.Context, path string, err error) error {
	switch {
	case ctx.Err() != nil:
		return err
	case errors.Is(err, filelock.ErrHeld):
		return fault.New("another server has been holding the lock of "+plain.Line(path)+" for 30 seconds; nothing was written",
			"Try again; if that fails too, ask the user to look for a suspended mcp-toolset process.")
	}
	return fault.New("the lock of "+plain.Line(path)+" cannot be taken: "+plain.Line(err.Error())+"; nothing was written",
		"Ask the user to check the server's state folder.")
}

// unconfirmed returns the error for an ErrUnconfirmed.
func unconfirmed(path string, err error) error {
	fact := plain.Line(path) + " was written, but the system did not confirm that it is on disk"
	var reason syscall.Errno
	if errors.As(err, &reason) {
		fact += ": " + reason.Error()
	}
	return fault.New(fact, "It has the new content, so do not write it again; ask the user to check the disk.")
}

// cause returns the first system error in err.
func cause(err error) string {
	var reason syscall.Errno
	if errors.As(err, &reason) {
		return reason.Error()
	}
	return "the disk failed"
}

// writeError returns the error for a file that could not be written.
func writeError(path string, err error) error {
	var kind *workspace.KindError
	var system *fs.PathError
	shown := plain.Line(path)
	switch {
	case errors.As(err, &kind) && kind.Kind == "directory":
		return fault.New(shown+" is a directory", "Name a file in it.")
	case errors.As(err, &kind):
		return fault.New(fmt.Sprintf("%s is a %s, not a file", shown, kind.Kind), "Only regular files can be written.")
	case errors.Is(err, workspace.ErrProtected):
		return fault.New(shown+" is write-protected", "Ask the user to change its mode if it is to be written.")
	case errors.Is(err, workspace.ErrTorn):
		return fault.New(shown+" is a mount of its own, was written in part, and its old content could not be restored: "+plain.Line(cause(err)), "Undo this call, or write the whole file again; if that fails, too, ask the user to check the disk.")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return fault.New("there is no room left to write "+shown+"; it is as it was", "Free some space first.")
	case errors.Is(err, syscall.EROFS):
		return fault.New(shown+" is on a file system that is read-only", "Write somewhere else.")
	case errors.Is(err, syscall.EPERM):
		return fault.New(shown+" may not be replaced: it is immutable, or its folder is sticky and another user's", "Ask the user to change that or to write it.")
	case errors.Is(err, fs.ErrPermission):
		return fault.New(shown+" may not be written by the user the server runs as", "Ask the user to change the permissions of its folder or to write it.")
	case fault.Descriptors("", err) != nil:
		return fault.Descriptors(shown+" cannot be written; it is as it was", err)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return fault.New(shown+" is a path too long", "Use a shorter one.")
	case errors.As(err, &system):
		return fault.New(shown+" cannot be written: "+plain.Line(system.Err.Error())+"; it is as it was", "Check the path, then try once more.")
	}
	return err
}
