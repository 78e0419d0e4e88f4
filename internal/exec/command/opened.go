package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"mcp-toolset/internal/exec/sandbox"
	"mcp-toolset/internal/text/plain"
)

// Sandboxed returns the configured sandbox mode.
func (c *Commands) Sandboxed() Mode { return c.config.Sandbox }

// FileRequest is a file that a command names and that the sandbox may not let it use.
type FileRequest struct {
	Path   string // canonical
	Change bool
	// Content is true if only the content of the file is written. Then a grant for the
	// file is enough; otherwise its folder must be granted.
	Content   bool
	Uncertain bool // a program gets the path and may write to it; an existing file is granted alone
	Remove    bool // the path itself may be removed or moved, even if it is a folder
}

// Grant is the access that a command gets for a FileRequest: to a file, or to a folder and
// everything below it.
type Grant struct {
	Path      string
	Change    bool
	Create    bool // the file is absent and is made before the command starts
	List      bool // the command may only list the names below the folder
	Uncertain bool // as in FileRequest
}

// GrantError is the error of Grants for a file that the sandbox cannot grant.
type GrantError struct {
	Path, Reason string
	Temporary    bool // the path is in a folder for temporary files
	Broad        bool // the change would affect so much that no text should suggest a way
}

func (e *GrantError) Error() string {
	return fmt.Sprintf("commands cannot be given %s: %s", plain.Line(e.Path), e.Reason)
}

// temporaryFolders lists folders that all users and programs share.
var temporaryFolders = []string{"/tmp", "/var/tmp"}

// Grants returns the grants that a confined command needs to use some files, each path
// once. It returns no grant for a file that the command may use anyway. The error is a
// *GrantError. readOnly has the meaning of Spec.ReadOnly.
func (c *Commands) Grants(wants []FileRequest, readOnly bool) ([]Grant, error) {
	p := c.policy(nil, readOnly, "")
	var out []Grant
	for _, w := range wants {
		if w.Change && slices.ContainsFunc(wants, w.below) {
			continue
		}
		g, err := c.grant(w, p)
		if err != nil {
			return nil, err
		}
		covered := slices.ContainsFunc(out, func(o Grant) bool { return inside(g.Path, o.Path) && (o.Change || !g.Change) })
		if g.Path == "" || covered {
			continue
		}
		out = append(out, g)
	}
	// A later grant may include an earlier one.
	return slices.DeleteFunc(slices.Clone(out), func(g Grant) bool {
		return slices.ContainsFunc(out, func(o Grant) bool { return o != g && inside(g.Path, o.Path) && (o.Change || !g.Change) })
	}), nil
}

// below reports whether w is in the folder that other names, but other is not a folder.
// This is so for copies, which are made at a path or below it.
func (w FileRequest) below(other FileRequest) bool {
	return other.Change && filepath.Dir(w.Path) == other.Path && !isFolder(other.Path)
}

// processFile matches the files of a process with a number. In the PID namespace of a
// command the number denotes another process.
var processFile = regexp.MustCompile(`^/proc/[0-9]+(/|$)`)

// grant returns the grant that a command needs to use one file. Its path is "" if the
// command may use the file without a grant.
func (c *Commands) grant(w FileRequest, p sandbox.Policy) (Grant, error) {
	fail := func(why string) (Grant, error) {
		inTemp := slices.ContainsFunc(temporaryFolders, func(dir string) bool { return inside(w.Path, dir) })
		return Grant{}, &GrantError{w.Path, why, inTemp, w.Change && c.broad(w.Path)}
	}
	if w.Uncertain && !mayChange(w.Path) {
		w.Change = false // the program could not change it without a sandbox either
	}
	g := Grant{Path: w.Path, Change: w.Change, Uncertain: w.Uncertain}
	info, err := os.Lstat(w.Path)
	absent := errors.Is(err, fs.ErrNotExist)
	switch hidden := holding(w.Path, p.Hide); {
	case err == nil && info.Mode()&(fs.ModeDevice|fs.ModeSocket) != 0:
		return fail("it is a device or a socket")
	case processFile.MatchString(w.Path):
		return fail("a command in the sandbox sees only its own processes")
	case inside(w.Path, "/dev/tcp"), inside(w.Path, "/dev/udp"):
		return Grant{}, nil // bash opens a network connection for it
	case slices.ContainsFunc([]string{"/proc", "/sys", "/dev"}, func(dir string) bool { return inside(w.Path, dir) }):
		if !w.Change && holding(w.Path, p.Read) != "" {
			return Grant{}, nil
		}
		return fail("it is a device or a file of the kernel")
	case hidden != "" && c.closedToAll(hidden):
		return fail("it is closed to all tools")
	case hidden == "" && !w.Change && holding(w.Path, slices.Concat(p.Read, p.Write)) != "":
		return Grant{}, nil
	case !w.Change && absent, errors.Is(err, syscall.ENOTDIR):
		return Grant{}, nil // the command reports it itself; .git is a file in a linked worktree
	}
	if w.Change && c.inWritable(w.Path) {
		return g, nil // a protected name
	}
	switch {
	case !w.Change, err == nil && info.IsDir() && !w.Remove, err == nil && (w.Content || w.Uncertain):
	case w.Content && absent && isFolder(filepath.Dir(w.Path)):
		g.Create = true
	default: // file names are made, replaced or removed
		g.Path = existing(filepath.Dir(w.Path))
	}
	switch why := c.neverGranted(g); {
	case why != "" && !g.Change:
		return Grant{Path: g.Path, List: true}, nil
	case why != "":
		return fail(why)
	}
	if held := hiddenBelow(p.Hide, g.Path); g.Change && !p.ReadOnly && len(held) > 0 && !c.masks() {
		return fail("it would need " + plain.Line(g.Path) + ", and this system cannot hide " + plain.Line(held[0]) + " in it from commands")
	}
	if !sandbox.May(g.Path, g.Change) {
		return fail("the user that the server runs as has no right to")
	}
	return g, nil
}

// masks reports whether hidden paths in a folder stay hidden from a command that is
// granted the folder.
func (c *Commands) masks() bool { return c.Report(context.Background()).Write.Coverage.Masks() }

// neverGranted returns why a command never gets this grant; "" if it may.
func (c *Commands) neverGranted(g Grant) string {
	switch {
	case g.Path == "/":
		return "it would need the whole file system"
	case c.temp.base() != "" && inside(c.temp.base(), g.Path), slices.Contains(temporaryFolders, g.Path):
		return "it would need " + plain.Line(g.Path) + ", which holds temporary files of others"
	case !g.Change:
		return ""
	case inside(c.config.State, g.Path), c.config.Home != "" && inside(resolved(c.config.Home), g.Path):
		return "it would need " + plain.Line(g.Path) + ", which holds the home folder or the state of this server"
	case slices.ContainsFunc(c.config.Roots, func(root string) bool { return inside(root, g.Path) }):
		return "it would need " + plain.Line(g.Path) + ", which holds a workspace root"
	}
	return ""
}

// broad reports whether a path is the root of the file system, a folder directly below
// it, the home folder, or a folder that holds a workspace root.
func (c *Commands) broad(path string) bool {
	return path == "/" || filepath.Dir(path) == "/" && isFolder(path) || path == resolved(c.config.Home) ||
		slices.ContainsFunc(c.config.Roots, func(root string) bool { return inside(root, path) })
}

// closedToAll reports whether a hidden path is one that no grant opens.
func (c *Commands) closedToAll(hidden string) bool {
	return hidden == c.config.State || hidden == c.temp.base() || slices.Contains(c.config.Closed, hidden)
}

// holding returns the first of folders that holds a canonical path; "" if none does.
func holding(path string, folders []string) string {
	for _, folder := range folders {
		if inside(path, filepath.Clean(folder)) || inside(path, resolved(folder)) {
			return folder
		}
	}
	return ""
}

// existing returns path if it is a folder, or the nearest folder above it that exists.
func existing(path string) string {
	for !isFolder(path) && path != filepath.Dir(path) {
		path = filepath.Dir(path)
	}
	return path
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// open adds grants to the policy of a command and makes the files that are absent. It
// fails if a path has changed since the approval, so that the command does not start.
// The caller must call undo after the command: it removes files that were made and that
// the command did not touch. masks reports whether mounts can hide paths. Without them,
// a folder with hidden paths is not granted as a whole, but as its other entries.
func open(p *sandbox.Policy, grants []Grant, masks bool) (undo func(), err error) {
	var made []madeFile
	undo = func() {
		for _, m := range made {
			m.undo()
		}
	}
	for _, g := range grants {
		if g.Create {
			m, err := makeFile(g.Path)
			if err == nil {
				made = append(made, m)
			} else if !errors.Is(err, fs.ErrExist) {
				undo()
				return nil, fmt.Errorf("making %s: %w", plain.Line(g.Path), err)
			}
		}
		if g.List {
			p.List = append(p.List, g.Path)
			continue
		}
		if real, err := filepath.EvalSymlinks(g.Path); err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && real != g.Path {
			undo()
			return nil, fmt.Errorf("%s is no longer what was agreed to", plain.Line(g.Path))
		}
		p.Hide = uncover(p.Hide, g.Path)
		given, held := []string{g.Path}, hiddenBelow(p.Hide, g.Path)
		if len(held) > 0 && !masks {
			if g.Change && !p.ReadOnly {
				undo()
				return nil, fmt.Errorf("%s holds %s, which this system cannot hide from commands", plain.Line(g.Path), plain.Line(held[0]))
			}
			given = around(g.Path, held)
			p.List, p.Exact = append(p.List, g.Path), append(p.Exact, g.Path)
		}
		p.Exact = append(p.Exact, given...)
		if g.Change && !p.ReadOnly {
			p.Write = append(p.Write, given...)
		} else {
			p.Read = append(p.Read, given...)
		}
	}
	return undo, nil
}

// madeFile is a file that was made for a command.
type madeFile struct {
	spot *spot
	made facts
}

// makeFile makes an empty file. It follows no link, since other commands may be able to
// put one on the path.
func makeFile(path string) (madeFile, error) {
	s, err := openParent("/", path)
	if err != nil {
		return madeFile{}, err
	}
	if err = s.create(); err == nil {
		var at facts
		if at, err = s.look(); err == nil {
			return madeFile{s, at}, nil
		}
	}
	s.close()
	return madeFile{}, err
}

// undo removes the file if it has not changed. Both touch and an empty output change
// its time, so then it stays.
func (m madeFile) undo() {
	if now, err := m.spot.look(); err == nil && now == m.made {
		_ = m.spot.unlink()
	}
	m.spot.close()
}

// paths returns the paths of grants.
func paths(grants []Grant) (out []string) {
	for _, g := range grants {
		out = append(out, g.Path)
	}
	return out
}

// hiddenBelow returns the hidden paths below a folder that exist, with links resolved.
func hiddenBelow(hidden []string, folder string) (out []string) {
	for _, h := range hidden {
		real := resolved(h)
		if _, err := os.Lstat(real); err == nil && real != folder && inside(real, folder) {
			out = append(out, real)
		}
	}
	return out
}

// around returns everything in a folder except the hidden paths and links.
func around(folder string, hidden []string) (out []string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		switch {
		case e.Type()&fs.ModeSymlink != 0, slices.Contains(hidden, path):
		case holdsAny(path, hidden):
			out = append(out, around(path, hidden)...)
		default:
			out = append(out, path)
		}
	}
	return out
}

// uncover removes a path, and the paths below it, from a list of hidden paths. If a
// hidden folder holds the path, its other entries stay hidden one by one.
func uncover(hidden []string, path string) (out []string) {
	for _, h := range hidden {
		real := resolved(h)
		switch {
		case real == path:
		case !inside(path, real):
			out = append(out, h)
		default:
			rest := strings.TrimPrefix(strings.TrimPrefix(path, real), "/")
			next, _, _ := strings.Cut(rest, "/")
			entries, _ := os.ReadDir(real)
			var below []string
			for _, e := range entries {
				if e.Name() != next {
					out = append(out, filepath.Join(real, e.Name()))
				} else {
					below = append(below, filepath.Join(real, next))
				}
			}
			out = append(out, uncover(below, path)...)
		}
	}
	return out
}
