package worktree

import (
	"slices"
	"sync"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/session"
)

// Carry holds the session of a server that is replaced by another one in the same process, because
// the roots of its client have changed. It is safe for concurrent use.
type Carry struct {
	mu   sync.Mutex
	view *session.View
}

// Store stores a session that has ended.
func (c *Carry) Store(v session.View) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.view = nil
	if v.Worktree != nil {
		c.view = &v
	}
}

func (c *Carry) take() *session.View {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.view
	c.view = nil
	return v
}

// Resume returns how a new session moves into the worktree of the session that c holds; nil if it
// holds none. The roots in the worktree stay, and the other ones are those of the new session,
// except for those that hold the checkout. Outside of the worktree, the session has its own roots.
func (r *Registry) Resume(v session.View, c *Carry) *session.Move {
	old := c.take()
	if old == nil || !isFolder(old.Worktree.Folder) {
		return nil
	}
	if r.Made(old.Worktree.Folder) {
		lock, err := r.use(old.Worktree.Folder)
		if err != nil || lock == nil {
			return nil
		}
		r.hold(v.Owner(), lock)
	}
	w := *old.Worktree
	w.Roots, w.Dir = v.Roots, v.Dir
	m := &session.Move{To: &w, Dir: old.Dir}
	for _, root := range old.Roots {
		if workspace.Within(w.Folder, root) {
			m.Roots = append(m.Roots, root)
		}
	}
	for _, root := range v.Roots {
		if !workspace.Within(w.Main, root) && !workspace.Within(root, w.Main) && !slices.Contains(m.Roots, root) {
			m.Roots = append(m.Roots, root)
		}
	}
	if workspace.Containing(m.Roots, m.Dir) == "" {
		m.Dir = m.Roots[0]
	}
	return m
}
