package worklist

import (
	"context"
	"sync"

	"mcp-toolset/session"
)

// Store keeps a list. It is safe for concurrent use.
type Store interface {
	// Read returns the list.
	Read(ctx context.Context) (List, error)
	// Update calls change with the list and stores what change makes of it. If change
	// returns an error, Update returns it and the list stays as it was. No other change
	// happens meanwhile. change must not use the store.
	Update(ctx context.Context, change func(*List) error) error
}

// Memory holds one list per owner in memory. The zero value is ready for use.
type Memory struct {
	mu    sync.Mutex
	lists map[session.Owner]List
}

// Of returns the store of an owner's list.
func (m *Memory) Of(o session.Owner) Store { return memoryStore{m, o} }

// Forget removes the list of an owner that has ended.
func (m *Memory) Forget(o session.Owner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.lists, o)
}

type memoryStore struct {
	of    *Memory
	owner session.Owner
}

func (s memoryStore) Read(context.Context) (List, error) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	l := s.of.lists[s.owner]
	return l.Clone(), nil
}

func (s memoryStore) Update(_ context.Context, change func(*List) error) error {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	old := s.of.lists[s.owner]
	l := old.Clone()
	if err := change(&l); err != nil {
		return err
	}
	if s.of.lists == nil {
		s.of.lists = map[session.Owner]List{}
	}
	s.of.lists[s.owner] = l
	return nil
}
