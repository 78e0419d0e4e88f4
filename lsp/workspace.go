package lsp

import (
	"sync"

	"mcp-toolset/session"
)

// Workspace describes where a session works. Sessions in the same git worktree share servers, and
// so do all sessions outside of worktrees: a server can write only where its sessions may.
type Workspace struct {
	Roots    []string // canonical; only used in a worktree, since outside they are those of Config
	Worktree *session.Worktree
}

// In returns the workspace of a session.
func In(v session.View) Workspace { return Workspace{v.Roots, v.Worktree} }

func (m *Manager) roots(w Workspace) []string {
	if w.Worktree == nil {
		return m.config.Roots
	}
	return w.Roots
}

// folder returns the git worktree; "" if there is none.
func (w Workspace) folder() string {
	if w.Worktree == nil {
		return ""
	}
	return w.Worktree.Folder
}

// trusts reports whether the user trusts the project in a root. A worktree is trusted as its
// checkout is.
func (m *Manager) trusts(w Workspace, root string) bool {
	if w.Worktree != nil {
		root = w.Worktree.Outside(root)
	}
	return m.config.Trusted(root)
}

// EndIn ends the servers of the sessions in a git worktree and returns when their processes have
// ended. If the folder is made again, they could not read it.
func (m *Manager) EndIn(folder string) {
	m.mu.Lock()
	var ending sync.WaitGroup
	for _, i := range m.running {
		if i.folder == folder {
			ending.Go(func() { m.stop(i, "the session has left the worktree", false) })
		}
	}
	m.mu.Unlock()
	ending.Wait()
}
