package worktree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

// Limits of the files that are copied into a new worktree.
const (
	IncludeFile = ".worktreeinclude"
	maxInclude  = 64 << 10 // bytes of IncludeFile
	maxCopied   = 1000     // files
	maxBytes    = 100 << 20
	maxSkipped  = 10 // reasons
)

// Copies describes which files Enter has copied.
type Copies struct {
	Names   []string // relative to the worktree, with slashes
	Skipped []string // reasons, each with the name of a file
	More    int      // files that were not copied because of the limits, or beyond Skipped
}

func (c *Copies) skip(name, why string) {
	if len(c.Skipped) >= maxSkipped {
		c.More++
		return
	}
	c.Skipped = append(c.Skipped, plain.Line(name)+": "+why)
}

// copyFiles copies the files of the checkout that are not in a commit and that IncludeFile
// selects, in gitignore syntax. It copies no link, and nothing through one.
func (c *checkout) copyFiles(ctx context.Context, folder string, hidden func(path string) bool) (out Copies) {
	list := filepath.Join(c.top, IncludeFile)
	info, err := os.Lstat(list)
	if err != nil {
		return out
	}
	if !info.Mode().IsRegular() || info.Size() > maxInclude {
		out.skip(IncludeFile, fmt.Sprintf("it is not a file of up to %d KiB", maxInclude>>10))
		return out
	}
	names, err := c.at(c.top).run(ctx, gitTime, "ls-files", "-z", "--others", "--ignored", "--exclude-from="+list)
	if err != nil {
		out.skip(IncludeFile, "listing the files failed: "+plain.Line(err.Error()))
		return out
	}
	from, err := os.OpenRoot(c.top)
	if err == nil {
		defer from.Close()
		var to *os.Root
		if to, err = os.OpenRoot(folder); err == nil {
			defer to.Close()
			out.copyAll(ctx, from, to, strings.Split(strings.TrimSuffix(names, "\x00"), "\x00"), func(name string) bool {
				return hidden(filepath.Join(c.top, filepath.FromSlash(name)))
			})
		}
	}
	if err != nil {
		out.skip(IncludeFile, plain.Line(err.Error()))
	}
	return out
}

func (c *Copies) copyAll(ctx context.Context, from, to *os.Root, names []string, hidden func(name string) bool) {
	left := int64(maxBytes)
	for _, name := range names {
		switch {
		case name == "", strings.HasSuffix(name, "/"): // a repository in the checkout
			continue
		case ctx.Err() != nil:
			c.skip(name, "the call was cancelled")
			continue
		case hidden(name):
			c.skip(name, "a rule or the policy denies reading it")
			continue
		case len(c.Names) >= maxCopied:
			c.More++
			continue
		}
		n, err := copyFile(from, to, filepath.FromSlash(name), left)
		switch {
		case errors.Is(err, fs.ErrExist): // the commit has it
		case errors.Is(err, errLimit):
			c.More++
		case err != nil:
			c.skip(name, plain.Line(cause(err).Error()))
		default:
			left -= n
			c.Names = append(c.Names, name)
		}
	}
}

// cause returns an error without its path.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

var errLimit = errors.New("the limit of bytes")

// Limits describes the limits of copied files.
var Limits = fmt.Sprintf("%d files and %d MiB", maxCopied, maxBytes>>20)

// copyFile copies a regular file with its permission bits. It leaves nothing if it fails.
func copyFile(from, to *os.Root, name string, limit int64) (n int64, err error) {
	info, err := from.Lstat(name)
	switch {
	case err != nil:
		return 0, err
	case info.Mode()&fs.ModeSymlink != 0:
		return 0, errors.New("it is a link")
	case !info.Mode().IsRegular():
		return 0, errors.New("it is not a regular file")
	case info.Size() > limit:
		return 0, errLimit
	}
	in, err := from.Open(name)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if now, err := in.Stat(); err != nil || !os.SameFile(now, info) {
		return 0, errors.New("it has changed meanwhile")
	}
	if dir := filepath.Dir(name); dir != "." {
		if err := to.MkdirAll(dir, 0o777); err != nil {
			return 0, err
		}
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(out, io.LimitReader(in, info.Size()+1))
	if err == nil && n > info.Size() {
		err = errors.New("it has changed meanwhile")
	}
	if err = errors.Join(err, out.Chmod(info.Mode().Perm()), out.Close()); err != nil {
		_ = to.Remove(name)
		return 0, err
	}
	return n, nil
}

// Limits of the files that are compared when a session moves.
const (
	maxCompared = 64 << 20  // bytes of one file
	maxHashed   = 256 << 20 // bytes in total
)

// sameFiles returns the files that a session has seen and that have the same content at another
// path. A model need not read them again there.
func sameFiles(seen []session.Seen, other func(path string) string) (out []session.Copied) {
	left := int64(maxHashed)
	for _, s := range seen {
		path := other(s.Path)
		if path == s.Path || s.File.Size > maxCompared || s.File.Size > left {
			continue
		}
		if hash, id, ok := hashOf(path, s.File.Size); ok {
			left -= id.Size
			if bytes.Equal(hash[:], s.Hash[:]) {
				out = append(out, session.Copied{From: s.Path, To: path, Hash: hash, File: id})
			}
		}
	}
	return out
}

// hashOf returns the hash of a regular file of a size, which is at a canonical path.
func hashOf(path string, size int64) (hash [sha256.Size]byte, id workspace.Identity, ok bool) {
	if real, err := workspace.Canonical(path); err != nil || real != path {
		return hash, id, false
	}
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() != size {
		return hash, id, false
	}
	f, err := os.Open(path)
	if err != nil {
		return hash, id, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() != size {
		return hash, id, false
	}
	h := sha256.New()
	if n, err := io.Copy(h, io.LimitReader(f, size+1)); err != nil || n != size {
		return hash, id, false
	}
	h.Sum(hash[:0])
	return hash, workspace.IdentityOf(info), true
}

// sameContent reports whether a file is the same in two folders.
func sameContent(a, b, name string) bool {
	one, other := filepath.Join(a, filepath.FromSlash(name)), filepath.Join(b, filepath.FromSlash(name))
	info, err := os.Lstat(one)
	if err != nil || info.Size() > maxCompared {
		return false
	}
	x, _, ok := hashOf(one, info.Size())
	y, _, also := hashOf(other, info.Size())
	return ok && also && x == y
}
