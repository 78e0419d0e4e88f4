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

// Memory holds one list per owner in memory, of a limited number of owners. The zero value
// is ready for use.
type Memory struct {
	mu    sync.Mutex
	lists session.Owned[List]
}

// Of returns the store of an owner's list.
func (m *Memory) Of(o session.Owner) Store { return memoryStore{m, o} }

// Forget removes the list of an owner that has ended.
func (m *Memory) Forget(o session.Owner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lists.Delete(o)
}

type memoryStore struct {
	of    *Memory
	owner session.Owner
}

func (s memoryStore) Read(context.Context) (List, error) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if l := s.of.lists.Lookup(s.owner); l != nil {
		return l.Clone(), nil
	}
	return List{}, nil
}

func (s memoryStore) Update(_ context.Context, change func(*List) error) error {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	var l List
	if old := s.of.lists.Lookup(s.owner); old != nil {
		l = old.Clone()
	}
	if err := change(&l); err != nil {
		return err
	}
	*s.of.lists.Get(s.owner) = l
	return nil
}
