package lsp

import (
	"context"
	"strings"
)

// Watches reports whether a change of a file is of interest to a server: one for it runs, or
// its row starts it.
func (m *Manager) Watches(path string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.config.Servers {
		s := &m.config.Servers[i]
		if s.Language(path) == "" {
			continue
		}
		if s.Starts {
			return true
		}
		for _, r := range m.running {
			if strings.HasPrefix(r.key, s.Name+"\x00") {
				return true
			}
		}
	}
	return false
}

// ForChange is For, for a change or a read of a file: it returns nil for a file outside of the
// roots, and if no server runs. It starts one only if start and Server.Starts are true.
func (m *Manager) ForChange(ctx context.Context, w Workspace, path string, start bool) (*Client, func(), error) {
	s, root, program, err := m.choose(w, path)
	if err != nil || root == "" {
		return nil, nil, err
	}
	return m.use(ctx, w, s, root, program, start && s.Starts)
}

// Background runs f, which must end when its context does. Close waits for it. It returns
// false after Close.
func (m *Manager) Background(f func(context.Context)) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.work.Go(func() { f(m.ctx) })
	}
	return !m.closed
}
