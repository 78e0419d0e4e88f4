package undo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/record/state"
	"mcp-toolset/session"
)

// maxOpen is the limit of stores of worktrees that are open while nothing is recorded in them.
const maxOpen = 4

// Elsewhere reports whether a session works in a git worktree outside of the workspace.
func (s *Store) Elsewhere(v session.View) bool {
	return v.Worktree != nil && workspace.Containing(s.o.Roots.Paths(), v.Worktree.Folder) == ""
}

// For returns the store for what a session changes: s or, if the session works elsewhere, the store
// of its roots there. The change sets of the latter have numbers that s does not use. For returns nil
// if nothing is recorded.
func (s *Store) For(v session.View) *Store {
	if s == nil || !s.Elsewhere(v) {
		return s
	}
	s.other.Lock()
	defer s.other.Unlock()
	key := strings.Join(v.Roots, "\x00")
	if s.ctx.Err() != nil || len(v.Roots) == 0 {
		return nil
	}
	info, err := os.Stat(v.Roots[0])
	if err != nil {
		return nil
	}
	at := slices.IndexFunc(s.worktrees, func(w *Store) bool { return w.key == key && os.SameFile(info, w.made) })
	if at < 0 {
		roots, err := workspace.OpenRoots(v.Roots)
		if err != nil {
			s.o.Log.Warn("changes in a worktree cannot be recorded for undo", "error", err.Error())
			return nil
		}
		o := s.o
		o.Roots = roots
		w := New(o)
		w.main, w.key, w.made = s, key, info
		s.worktrees = append(slices.DeleteFunc(s.worktrees, s.drop), w)
		at = len(s.worktrees) - 1
	}
	w := s.worktrees[at]
	s.worktrees = append(slices.Delete(s.worktrees, at, at+1), w) // the last one used is the last
	if over := len(s.worktrees) - maxOpen; over > 0 {
		idle := slices.Clone(s.worktrees[:over])
		s.start(func() {
			for _, w := range idle {
				w.rest()
			}
		})
	}
	return w
}

// drop closes the store of a worktree if that was removed, perhaps to be made again, and reports
// whether it does.
func (s *Store) drop(w *Store) bool {
	if now, err := os.Stat(w.worktree()); err == nil && os.SameFile(now, w.made) {
		return false
	}
	s.start(func() { _ = w.closeWorktree() })
	return true
}

// worktreeFile is the name of a file in the store of a worktree, which holds the first root of the
// workspace.
const worktreeFile = "worktree"

// maxRoot is the limit of the path in a worktreeFile.
const maxRoot = 64 << 10

// Worktree is the store of a worktree, as other programs than its server see it.
type Worktree struct {
	Root string // the first one
	s    *Store
}

// Worktrees returns the stores of the worktrees of the workspace with a first root.
func Worktrees(stateDir, root string) (all []Worktree) {
	dirs, _ := filepath.Glob(filepath.Join(stateDir, "undo", "*")) // fails only for a bad pattern
	for _, dir := range dirs {
		main, _, err := state.ReadTrusted(filepath.Join(dir, worktreeFile), maxRoot)
		if err != nil || string(main) != root {
			continue
		}
		if roots, err := Roots(dir); err == nil && len(roots) > 0 {
			all = append(all, Worktree{roots[0], &Store{dir: dir}})
		}
	}
	return all
}

// Has reports whether there is a change set with a number.
func (w Worktree) Has(number int) bool {
	have, err := w.s.numbers()
	return err == nil && slices.Contains(have, number)
}

// Forget removes the store.
func (w Worktree) Forget() error { return w.s.discard(func() bool { return true }) }

// isGone reports whether the store is that of a worktree that does not exist any more. If its parent
// does not exist either, its file system may not be mounted.
func (s *Store) isGone() bool {
	if _, err := os.Lstat(filepath.Join(s.dir, worktreeFile)); err != nil {
		return false
	}
	roots, err := Roots(s.dir)
	if err != nil || len(roots) == 0 {
		return false
	}
	_, err = os.Lstat(filepath.Dir(roots[0]))
	_, gone := os.Lstat(roots[0])
	return err == nil && errors.Is(gone, fs.ErrNotExist)
}

// worktree returns the first root of the store of a worktree, and "" for others.
func (s *Store) worktree() string {
	if s.main == nil {
		return ""
	}
	return s.o.Roots.Paths()[0]
}

// rest closes the files of a store in which nothing is recorded, until it is used again.
func (s *Store) rest() {
	select {
	case s.work <- struct{}{}:
	default:
		return
	}
	defer s.unlock()
	if s.objects == nil || len(s.active) > 0 {
		return
	}
	if err := errors.Join(s.save(), s.objects.close()); err != nil {
		s.o.Log.Warn("closing the undo store of a worktree failed", "error", err.Error())
	}
	s.end()
	s.objects, s.base = nil, nil
}

// closeWorktrees closes the stores of worktrees.
func (s *Store) closeWorktrees() (err error) {
	s.other.Lock()
	all := s.worktrees
	s.worktrees = nil
	s.other.Unlock()
	for _, w := range all {
		err = errors.Join(err, w.closeWorktree())
	}
	return err
}

func (s *Store) closeWorktree() error { return errors.Join(s.Close(), s.o.Roots.Close()) }

// workspace returns the store of the workspace if s is that of a worktree, also in another program
// than its server; nil for others. The result is only for reserve.
func (s *Store) workspace() *Store {
	if s.main != nil {
		return s.main
	}
	root, _, err := state.ReadTrusted(filepath.Join(s.dir, worktreeFile), maxRoot)
	if err != nil {
		return nil
	}
	dir := Dir(s.o.State, []string{string(root)})
	if _, err := os.Lstat(filepath.Join(dir, workspaceFile)); err != nil {
		return nil
	}
	return &Store{o: s.o, dir: dir}
}

// reserve returns a number, at least the given one, that no change set of the workspace has or will
// have.
func (s *Store) reserve(least int) (number int, err error) {
	for _, dir := range []string{s.o.State, filepath.Dir(s.dir), s.dir} {
		if err := state.EnsurePrivate(dir); err != nil {
			return 0, err
		}
	}
	release, err := s.exclusive("sets.lock")
	if err != nil {
		return 0, err
	}
	defer release()
	if _, err := os.Lstat(filepath.Join(s.dir, workspaceFile)); err != nil {
		if err := s.describe(); err != nil {
			return 0, err
		}
	}
	have, err := s.numbers()
	if err != nil {
		return 0, err
	}
	number = max(least, 1+s.last(), 1+slices.Max(append(have, 0)))
	path := filepath.Join(s.dir, "last")
	if err := os.WriteFile(path+".new", []byte(strconv.Itoa(number)), 0o600); err != nil {
		return 0, err
	}
	return number, os.Rename(path+".new", path)
}
