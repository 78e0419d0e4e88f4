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

// ForChange is For, for a change or a read of a file: it returns nil if no server runs, and
// starts one only if its row says so and start is true.
func (m *Manager) ForChange(ctx context.Context, w Workspace, path string, start bool) (*Client, func(), error) {
	if rootOf(m.roots(w), path) == "" {
		return nil, nil, nil
	}
	s, _, _, err := m.choose(w, path)
	if err != nil {
		return nil, nil, err
	}
	return m.For(ctx, w, path, start && s.Starts)
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
