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

// worktreeFile is the name of the empty file in the store of a worktree.
const worktreeFile = "worktree"

// isGone reports whether the store is that of a worktree that does not exist any more.
func (s *Store) isGone() bool {
	if _, err := os.Lstat(filepath.Join(s.dir, worktreeFile)); err != nil {
		return false
	}
	roots, err := Roots(s.dir)
	if err != nil || len(roots) == 0 {
		return false
	}
	_, err = os.Lstat(roots[0])
	return errors.Is(err, fs.ErrNotExist)
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
