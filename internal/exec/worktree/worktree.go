// Package worktree makes, enters, leaves and removes git worktrees for sessions.
//
// A worktree gets a branch of its own and a folder in Registry.Folder. A record of it in the state
// folder is written before git makes it. While a session works in it, a lock on a file beside the
// record is held, which ends with the process: what a killed server leaves is listed, and can be
// entered again.
//
// git runs as the server, with the settings of package shellsafe: no hook, filter or other program
// of the repository runs. So files of git-lfs stay pointers.
//
// The package decides nothing about permission. It never makes more writable than the session
// could write before: the repository's folder only if it is in a root.
package worktree

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-toolset/internal/file/filelock"
	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/text/fault"
	"mcp-toolset/internal/text/plain"
	"mcp-toolset/session"
)

// Registry makes worktrees and knows which sessions are in one. It is safe for concurrent use.
type Registry struct {
	State  string   // the state folder
	Folder string   // holds the worktrees; a relative path begins at the checkout
	Closed []string // folders whose files are not copied
	Locks  *filelock.Locks
	// Undisturbed calls a function during which nobody takes what git is just writing for a change
	// of a command. nil: it is called at once.
	Undisturbed func(func())

	mu   sync.Mutex
	held map[session.Owner]*os.File // locks of worktrees
}

// FolderFor returns the default folder of worktrees for a state folder. It is beside the state
// folder, which no tool and no command may use.
func FolderFor(stateDir string) string { return stateDir + "-worktrees" }

// NameRule describes valid names, for error texts.
const NameRule = `parts of letters, digits, ".", "_" and "-", joined by "/", 64 characters at most`

var namePart = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// ValidName reports whether a worktree and its branch can have a name.
func ValidName(name string) bool {
	return len(name) <= 64 && !slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
		return !namePart.MatchString(part) || strings.Contains(part, "..") || strings.HasSuffix(part, ".") || strings.HasSuffix(strings.ToLower(part), ".lock")
	}) && name != "HEAD"
}

// Entered describes what Enter did.
type Entered struct {
	Move      session.Move
	New       bool // the worktree was made
	NewBranch bool // the branch, too
	Copies
	Submodules bool // the repository has submodules, which are not checked out
	NoCommit   bool // commands may not change the repository's folder
}

// Request describes the worktree to enter.
type Request struct {
	Name string // of a new worktree; "": one is chosen
	Path string // of an existing worktree, canonical; "": a new one is made
	// Hidden reports whether a file of the checkout must not be copied. nil: none.
	Hidden func(path string) bool
}

// Enter makes a worktree, or finds an existing one, and returns how the session moves into it. The
// caller must apply the move, or call Forget.
func (r *Registry) Enter(ctx context.Context, v session.View, q Request) (*Entered, error) {
	if v.Worktree != nil {
		return nil, fault.New("the session is in the worktree "+plain.Line(v.Worktree.Folder)+" already", "Call ExitWorktree first.")
	}
	at, err := find(ctx, v)
	if err != nil {
		return nil, err
	}
	release, err := r.Locks.Lock(ctx, "worktrees "+at.common)
	if err != nil {
		return nil, lockFault(ctx, err)
	}
	defer release()
	var e *Entered
	if q.Path != "" {
		e, err = r.enter(ctx, v, at, q.Path)
	} else {
		e, err = r.add(ctx, v, at, q)
	}
	if err != nil {
		return nil, err
	}
	w := e.Move.To
	e.Move.Reads = sameFiles(v.SeenBelow(w.Main), w.Inside)
	e.NoCommit = w.Common == ""
	if _, err := os.Lstat(filepath.Join(w.Folder, ".gitmodules")); err == nil {
		e.Submodules = true
	}
	return e, nil
}

func lockFault(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, filelock.ErrHeld):
		return fault.New("another session has been making or removing a worktree of this repository for half a minute", "Try again.")
	}
	return fault.New("the lock of worktrees cannot be taken: "+plain.Line(err.Error()), "Ask the user to look at that.")
}

// add makes a worktree.
func (r *Registry) add(ctx context.Context, v session.View, at *checkout, q Request) (*Entered, error) {
	name := cmp.Or(q.Name, newName())
	base, err := at.line(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	tip, absent := at.line(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+name)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fault.New("the repository has no commit yet", "Make a first commit, then call EnterWorktree again.")
	}
	c := &record{Main: at.top, Common: at.common, Branch: name, Made: absent != nil, Base: base, When: time.Now()}
	if !c.Made {
		c.Base = tip
		if used, err := at.usedBy(ctx, name); err != nil {
			return nil, err
		} else if used == at.top {
			return nil, fault.New(fmt.Sprintf("the branch %s is checked out here", name), "Use another name.")
		} else if used != "" {
			return nil, fault.New(fmt.Sprintf("the branch %s is checked out in %s", name, plain.Line(used)), "Use another name, or enter that worktree with path.")
		}
	}
	if c.Folder, err = r.newFolder(at, name); err != nil {
		return nil, fault.New("the folder of worktrees cannot be made: "+plain.Line(err.Error()), "Ask the user to look at that.")
	}
	lock, err := r.begin(c)
	if err != nil {
		return nil, fault.New("storing the worktree failed: "+plain.Line(err.Error()), "Ask the user to look at the state folder.")
	}
	e := &Entered{New: true, NewBranch: c.Made}
	// A command that cannot see the folder must not prune the worktree.
	args := []string{"worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason", "made by EnterWorktree of mcp-toolset"}
	if c.Made {
		args = append(args, "--no-track", "-b", name, c.Folder, base)
	} else {
		args = append(args, c.Folder, name)
	}
	undisturbed := r.Undisturbed
	if undisturbed == nil {
		undisturbed = func(f func()) { f() }
	}
	undisturbed(func() { _, err = at.run(ctx, gitTime, args...) })
	if err == nil {
		_, err = at.at(c.Folder).run(ctx, addTime, "reset", "--hard", "--quiet", "--no-recurse-submodules")
	}
	if err != nil {
		err = failure("git worktree add", err)
	} else {
		e.Move, err = at.move(ctx, v, c.Folder, name)
	}
	if err != nil {
		r.undo(ctx, at, c)
		_ = lock.Close()
		return nil, err
	}
	e.Copies = at.copyFiles(ctx, c.Folder, func(path string) bool {
		return workspace.Containing(r.Closed, path) != "" || q.Hidden != nil && q.Hidden(path)
	})
	if c.Copied = e.Copies.Names; len(c.Copied) > 0 {
		_ = r.store(c) // without it, copies count as work
	}
	r.hold(v.Owner(), lock)
	return e, nil
}

// begin stores a record and locks its worktree.
func (r *Registry) begin(c *record) (*os.File, error) {
	if list, _, err := r.all(); err != nil || len(list) >= maxRecords {
		return nil, cmp.Or(err, fmt.Errorf("there are %d worktrees; mcp-toolset worktrees --clean removes those without work", maxRecords))
	}
	if err := r.store(c); err != nil {
		return nil, err
	}
	lock, err := r.use(c.Folder)
	if lock == nil {
		err = cmp.Or(err, errors.New("another session uses the folder"))
		r.forget(c.Folder)
	}
	return lock, err
}

// undo removes what a failed add has made. The caller's context may have ended.
func (r *Registry) undo(ctx context.Context, at *checkout, c *record) {
	ctx = context.WithoutCancel(ctx)
	_ = os.RemoveAll(c.Folder) // git does not remove a worktree that it has made in part
	_ = os.Remove(filepath.Dir(c.Folder))
	_, _ = at.run(ctx, gitTime, "worktree", "remove", "--force", "--force", c.Folder)
	if c.Made {
		_, _ = at.run(ctx, gitTime, "update-ref", "-d", "refs/heads/"+c.Branch, c.Base)
	}
	r.forget(c.Folder)
}

// newFolder returns the folder for a worktree and makes the folders above it.
func (r *Registry) newFolder(at *checkout, name string) (string, error) {
	base := r.Folder
	if !filepath.IsAbs(base) {
		base = filepath.Join(at.top, base)
	}
	safe := regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(filepath.Base(at.top), "_")
	base = filepath.Join(base, fmt.Sprintf("%.40s-%.4x", strings.TrimLeft(safe, "."), sha256.Sum256([]byte(at.common))))
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", err
	}
	if workspace.Within(at.top, base) {
		// It is no content of the checkout.
		if f, err := os.OpenFile(filepath.Join(base, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err == nil {
			_, _ = f.WriteString("*\n")
			_ = f.Close()
		}
	}
	base, err := workspace.Canonical(base)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(base, strings.ReplaceAll(name, "/", "-"))
	for i := 2; i < 100; i++ {
		if _, err := os.Lstat(folder); errors.Is(err, os.ErrNotExist) {
			return folder, nil
		}
		folder = filepath.Join(base, fmt.Sprintf("%s-%d", strings.ReplaceAll(name, "/", "-"), i))
	}
	return "", fmt.Errorf("%s has too many worktrees of the name %s", base, name)
}

// enter enters an existing worktree.
func (r *Registry) enter(ctx context.Context, v session.View, at *checkout, path string) (*Entered, error) {
	list, err := at.worktrees(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, w := range list {
		if w.folder == at.top || w.bare || !isFolder(w.folder) {
			continue
		}
		if names = append(names, plain.Line(w.folder)); w.folder != path {
			continue
		}
		for _, root := range v.Roots {
			if workspace.Within(path, root) || workspace.Within(path, at.top) {
				return nil, fault.New(plain.Line(path)+" holds a root of the session", "Work there without EnterWorktree.")
			}
		}
		m, err := at.move(ctx, v, path, w.branch)
		if err != nil {
			return nil, err
		}
		c, err := r.load(path)
		if err != nil {
			return nil, fault.New("the record of the worktree cannot be read: "+plain.Line(err.Error()), "Ask the user to look at that.")
		}
		if c != nil {
			lock, err := r.use(path)
			switch {
			case err != nil:
				return nil, fault.New("the worktree cannot be locked: "+plain.Line(err.Error()), "Ask the user to look at that.")
			case lock == nil:
				return nil, fault.New("another session works in "+plain.Line(path), "Make a worktree of another name.")
			}
			r.hold(v.Owner(), lock)
		}
		return &Entered{Move: m}, nil
	}
	if len(names) == 0 {
		return nil, fault.New(plain.Line(path)+" is no worktree of this repository, which has none besides this checkout", "Call EnterWorktree without path to make one.")
	}
	return nil, fault.Unknown(plain.Line(path)+" is no worktree of this repository", "worktree", names, "See them with git worktree list, or call EnterWorktree without path.")
}

// Leave returns how a session moves out of its worktree, which stays.
func (r *Registry) Leave(v session.View) (*session.Move, error) {
	w := v.Worktree
	if w == nil {
		return nil, fault.New("the session is in no worktree", "EnterWorktree makes one.")
	}
	m := &session.Move{Roots: w.Roots, Dir: w.Dir, Reads: sameFiles(v.SeenBelow(w.Folder), w.Outside)}
	if !isFolder(m.Dir) && len(m.Roots) > 0 {
		m.Dir = m.Roots[0]
	}
	return m, nil
}

// Forget releases the worktree of a session that has left it or has ended.
func (r *Registry) Forget(o session.Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.held[o]; f != nil {
		_ = f.Close()
		delete(r.held, o)
	}
}

// Close releases all worktrees.
func (r *Registry) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for o, f := range r.held {
		_ = f.Close()
		delete(r.held, o)
	}
	return nil
}

func (r *Registry) hold(o session.Owner, lock *os.File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.held[o]; f != nil {
		_ = f.Close()
	}
	if r.held == nil {
		r.held = map[session.Owner]*os.File{}
	}
	r.held[o] = lock
}

var (
	adjectives = strings.Fields("amber brisk calm clear deft eager fair fleet fresh gentle glad keen lucid mellow merry neat noble plain quick quiet ready sharp silver solid steady still sunny swift tidy vivid warm wise")
	nouns      = strings.Fields("alder aspen badger beech birch brook cedar crane dune elm falcon fern finch fox gale grove hazel heron ibis jay lark linden lynx maple marten meadow oak otter pine raven river wren")
)

// newName returns a readable name that is most likely new.
func newName() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b) // it never fails
	return fmt.Sprintf("%s-%s-%x", adjectives[int(b[0])%len(adjectives)], nouns[int(b[1])%len(nouns)], b[2:])
}
