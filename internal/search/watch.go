package search

import (
	"context"
	"errors"
	"time"

	"mcp-toolset/internal/search/walk"
	"mcp-toolset/internal/search/watch"
)

// retry is the time a tree goes without a watcher after one failed. That happens when
// much changes at once, and more is likely to follow.
const retry = 10 * time.Second

// watch starts a watcher for the tree in the background, if the options ask for one. It
// does nothing if there is one already.
func (t *Tree) watch() {
	s := t.s
	if !s.options.Watch {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.done || t.watching || t.unwatchable || t.dropped || !t.ready || time.Since(t.failed) < s.retry {
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
