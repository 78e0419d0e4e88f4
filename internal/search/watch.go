package search

import (
	"context"
	"errors"
	"time"

	"mcp-toolset/internal/search/walk"
	"mcp-toolset/internal/search/watch"
)

// retry is how long a tree goes without a watcher that has lost track: that
// happens when much changes at once, and more is likely to follow.
const retry = 10 * time.Second

// watch has a watcher vouch for the tree from some time on, if one is wanted.
// Where one vouches already there is nothing to do.
func (t *Tree) watch() {
	s := t.s
	if !s.options.Watch {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.done || t.watching || t.unwatchable || t.gone || !t.ready || time.Since(t.failed) < s.retry {
		return
	}
	t.watching = true
	s.build.Go(func() {
		var err error
		t.observed(s.ctx, func(ctx context.Context) { err = t.list.StartWatching(ctx) })
		t.mu.Lock()
		defer t.mu.Unlock()
		t.watching = false
		if err != nil {
			t.failed = time.Now()
		}
		t.unwatchable = errors.Is(err, errors.ErrUnsupported) || errors.Is(err, walk.ErrNotReported) || errors.Is(err, watch.ErrClosed)
	})
}
