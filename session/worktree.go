package session

import (
	"crypto/sha256"
	"path/filepath"
	"slices"

	"mcp-toolset/internal/file/workspace"
)

// Worktree describes the git worktree in which a session works instead of the checkout from
// which it was made. It is immutable.
type Worktree struct {
	Folder string // top folder of the worktree: absolute, canonical
	Main   string // top folder of the checkout, which the session must not change: absolute, canonical
	Branch string // "": HEAD was detached at the start

	// Common is the folder of the repository, which holds objects and refs, if commands of the
	// session may change it; "" if not. Own is the part of it that belongs to the worktree.
	Common, Own string

	Roots []string // of the session outside of the worktree
	Dir   string   // working directory before the session entered the worktree
}

// Inside returns the path in the worktree that corresponds to a path in the checkout. It returns
// other paths, and those that are in the worktree already, unchanged.
func (w *Worktree) Inside(path string) string { return moved(path, w.Main, w.Folder) }

// Outside is the inverse of Inside.
func (w *Worktree) Outside(path string) string { return moved(path, w.Folder, w.Main) }

// moved returns path with the folder to in place of the folder from. One folder may be in the
// other one.
func moved(path, from, to string) string {
	if !workspace.Within(from, path) || len(to) > len(from) && workspace.Within(to, path) {
		return path
	}
	rel, err := filepath.Rel(from, path)
	if err != nil {
		return path
	}
	return filepath.Join(to, rel)
}

// Move moves a session into a worktree, or out of it.
type Move struct {
	To    *Worktree // nil: the session leaves its worktree
	Roots []string  // the new roots
	Dir   string    // the new working directory
	Reads []Copied
}

// Copied names a file with the same content in both folders of a move. The records of From then
// also hold for To.
type Copied struct {
	From, To string // canonical
	Hash     [sha256.Size]byte
	File     workspace.Identity // of To
}

// Project returns the first root that the session has outside of a worktree; "" if there is none.
// What is stored for a project belongs to it.
func (v View) Project() string {
	roots := v.Roots
	if v.Worktree != nil {
		roots = v.Worktree.Roots
	}
	if len(roots) == 0 {
		return ""
	}
	return roots[0]
}

// Place describes where the session is, if a call has moved it: its folder and its worktree. It
// returns "" at the start of the session.
func (v View) Place() string {
	if len(v.Roots) == 0 || v.Worktree == nil && v.Dir == v.Roots[0] {
		return ""
	}
	top, text := v.Roots[0], "the working directory is "
	if v.Worktree != nil {
		if top = v.Worktree.Folder; v.Dir == top {
			return "in the worktree " + top
		}
	}
	if rel, err := filepath.Rel(top, v.Dir); err == nil && filepath.IsLocal(rel) {
		text += rel
	} else {
		text += v.Dir
	}
	if v.Worktree != nil {
		text += " of the worktree " + top
	}
	return text
}

// SeenBelow returns what the session has seen of the files in a folder, the latest first. It
// omits files whose content is unknown.
func (v View) SeenBelow(folder string) (out []Seen) {
	if v.of == nil {
		return nil
	}
	v.of.mu.Lock()
	defer v.of.mu.Unlock()
	for _, path := range slices.Backward(v.of.reads.order) {
		if s := v.of.reads.seen[path]; s.Hash != [sha256.Size]byte{} && workspace.Within(folder, path) {
			out = append(out, s)
		}
	}
	return out
}

// copy copies the records of a file for another one with the same content.
func (m *reads) copy(c Copied) {
	var list []Read
	for _, r := range m.of[c.From] {
		if r.Hash == c.Hash {
			r.Path, r.File = c.To, c.File
			list = append(list, r)
		}
	}
	seen, ok := m.seen[c.From]
	if !ok || len(list) == 0 || seen.Hash != c.Hash {
		return
	}
	m.see(list[len(list)-1]) // a place in the order, within the limit
	m.of[c.To] = list
	seen.Path, seen.File = c.To, c.File
	m.seen[c.To] = seen
}

// OnMove registers f to be called with the new roots when the session enters or leaves a
// worktree. A later f replaces it. f must neither block nor panic.
func (s *Session) OnMove(f func(roots []string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onMove = f
}

// move applies a Move. The caller holds the lock.
func (s *Session) move(m *Move) {
	s.view.Worktree, s.view.Roots, s.view.Dir = m.To, slices.Clone(m.Roots), m.Dir
	for _, c := range slices.Backward(m.Reads) { // the latest last
		s.reads.copy(c)
	}
	if s.onMove != nil {
		s.onMove(slices.Clone(m.Roots))
	}
}
