package walk

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// ErrSilent is the [Dir.Err] of a folder for which Options.Silent returns true.
var ErrSilent = errors.New("the file system does not answer")

// Monitor records which folder each worker of a search waits for. A system call on a
// file system that does not answer cannot be interrupted. But it can be noticed: the
// same worker waits for the same folder for a long time.
type Monitor struct {
	mu    sync.Mutex
	posts []*Post
}

// Post is where one worker records what it waits for. It is for one goroutine. A nil
// Post records nothing.
type Post struct {
	turn  atomic.Uint64 // odd while the worker waits
	place atomic.Pointer[place]
	seen  uint64 // turn at the last call of Stuck
}

type monitorKey struct{}

// WithMonitor returns a context with which this package reports to m.
func WithMonitor(ctx context.Context, m *Monitor) context.Context {
	return context.WithValue(ctx, monitorKey{}, m)
}

// NewPost returns a post of the monitor of ctx, or nil if ctx has none.
func NewPost(ctx context.Context) *Post {
	m, _ := ctx.Value(monitorKey{}).(*Monitor)
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := new(Post)
	m.posts = append(m.posts, p)
	return p
}

// Enter records that the worker is about to wait for d.
func (p *Post) Enter(d *Dir) { p.enter(d.place) }

func (p *Post) enter(at *place) {
	if p == nil {
		return
	}
	p.place.Store(at)
	p.turn.Store((p.turn.Load() + 2) | 1)
}

// Leave records that the worker does not wait any more.
func (p *Post) Leave() {
	if p == nil {
		return
	}
	p.turn.Store((p.turn.Load() + 1) &^ 1)
}

// Stuck returns the folders that workers have been waiting for since the last call of
// Stuck, by their paths relative to the top. It is for one goroutine.
func (m *Monitor) Stuck() (paths []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.posts {
		turn := p.turn.Load()
		if turn%2 == 1 && turn == p.seen {
			paths = append(paths, p.place.Load().path())
		}
		p.seen = turn
	}
	return paths
}
