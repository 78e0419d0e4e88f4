package search

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/bounded"
	"mcp-toolset/internal/search/walk"
)

const (
	// silentCheck is the interval of the check whether a worker still waits for the same
	// system call. It is longer than a disk needs to wake up, and leaves time to search
	// the rest.
	silentCheck = 3 * time.Second
	// grace is the time a search may take to notice its deadline.
	grace = time.Second
	// noDeadline bounds a search without a deadline.
	noDeadline = 1 << 62
	// closeTime bounds how long Close waits for a file system.
	closeTime = time.Second
)

// errTreeBlocked is the reason to start a search again: its tree waits for a file system that
// does not answer.
var errTreeBlocked = errors.New("the tree waits for a file system that does not answer")

// silent holds the canonical paths of folders whose file system does not answer, with
// the number of searches that wait there. A folder is not opened while a search waits.
type silent struct {
	some  atomic.Int32 // number of folders
	mu    sync.Mutex
	paths map[string]int
}

// has reports whether a folder or one above it is silent.
func (s *silent) has(path string) bool {
	if s.some.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.paths {
		if path == p || strings.HasPrefix(path, strings.TrimSuffix(p, "/")+"/") {
			return true
		}
	}
	return false
}

// below returns the silent folders below a folder, relative to it.
func (s *silent) below(top string) (paths []string) {
	if s.some.Load() == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.paths {
		if rel, ok := strings.CutPrefix(p, strings.TrimSuffix(top, "/")+"/"); ok {
			paths = append(paths, rel)
		}
	}
	slices.Sort(paths)
	return paths
}

func (s *silent) add(path string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paths == nil {
		s.paths = map[string]int{}
	}
	if s.paths[path] += n; s.paths[path] <= 0 {
		delete(s.paths, path)
	}
	s.some.Store(int32(len(s.paths)))
}

// observed calls do, which may wait for the file system, and returns when it returns.
// If it waits for too long, the tree is lost, while do still waits.
func (t *Tree) observed(ctx context.Context, do func(context.Context)) {
	o := &observer{t: t, monitor: new(walk.Monitor)}
	o.mu.Lock()
	o.timer = time.AfterFunc(t.s.silentCheck, o.look)
	o.mu.Unlock()
	defer o.end()
	do(walk.WithMonitor(ctx, o.monitor))
}

// observer watches work that may wait for the file system.
type observer struct {
	t       *Tree
	monitor *walk.Monitor

	mu    sync.Mutex
	timer *time.Timer
	stuck []string // canonical paths
	ended bool
}

// look runs at every interval.
func (o *observer) look() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	for _, path := range o.monitor.Stuck() {
		path = filepath.Join(o.t.top, filepath.FromSlash(path))
		if !slices.Contains(o.stuck, path) {
			o.stuck = append(o.stuck, path)
			o.t.s.silent.add(path, 1)
		}
	}
	if len(o.stuck) > 0 {
		o.t.s.dropTree(o.t)
	}
	o.timer.Reset(o.t.s.silentCheck)
}

func (o *observer) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.timer.Stop()
	for _, path := range o.stuck {
		o.t.s.silent.add(path, -1)
	}
}

// dropTree drops a tree that waits for the file system. Its users start again with another
// one.
func (s *Searcher) dropTree(t *Tree) {
	t.setBlocked(errTreeBlocked)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(t)
}

// attempt calls do, which uses the tree and may wait for the file system. attempt
// returns without waiting for do when ctx ends, when the time limit is over
// (bounded.ErrTime), or when the tree is lost (errTreeBlocked).
func attempt[T any](ctx context.Context, t *Tree, limit time.Duration, do func(context.Context) (T, error)) (result T, err error) {
	if t.s.silent.has(t.top) {
		return result, walk.ErrSilent
	}
	trying, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.blocked, func() { cancel(errTreeBlocked) })()
	result, err = bounded.Do(trying, limit, func(ctx context.Context) (result T, err error) {
		t.observed(ctx, func(ctx context.Context) { result, err = do(ctx) })
		return result, err
	})
	if err != nil && ctx.Err() == nil && t.blocked.Err() != nil {
		err = errTreeBlocked // whatever error do returned
	}
	return result, err
}

// remaining returns the time limit of a search.
func (s *Searcher) remaining(deadline time.Time) time.Duration {
	if deadline.IsZero() {
		return noDeadline
	}
	return max(0, time.Until(deadline)) + s.grace
}

// again returns the query for a new attempt, once the context of the former attempt has
// ended. The former attempt does not call Pick any more.
func (q *Query) again() *Query {
	next := *q
	q.anew(context.Background())
	next.picking = new(sync.Mutex)
	return &next
}

// lock locks the calls of Pick.
func (q *Query) lock() (unlock func()) {
	if q.picking == nil { // there is only one caller
		return func() {}
	}
	q.picking.Lock()
	return q.picking.Unlock
}

// anew calls Anew, unless ctx has ended.
func (q *Query) anew(ctx context.Context) bool {
	defer q.lock()()
	if ctx.Err() != nil {
		return false
	}
	if q.Anew != nil {
		q.Anew()
	}
	return true
}

// ignoredFolder returns the folders of a listing whose file system does not answer, if they
// may be shown, and the number of the other folders that could not be read.
func (q *Query) unreadableFolders(l *walk.Listing) (silent []string, unreadable int) {
	if unreadable = l.Unreadable; unreadable == 0 {
		return nil, 0
	}
	for _, d := range l.Dirs {
		if !errors.Is(d.Err, walk.ErrSilent) {
			continue
		}
		unreadable--
		if path := d.Path(); q.Show == nil || q.Show(path) {
			silent = append(silent, path)
		}
	}
	return silent, unreadable
}

// unlisted returns the answer of a search whose time was up before the folders were
// listed. It names the folders below that do not answer.
func (t *Tree) unlisted(q *Query) *Answer {
	silent := slices.DeleteFunc(t.s.silent.below(t.top), func(path string) bool { return q.Show != nil && !q.Show(path) })
	return &Answer{Incomplete: late + " while the folders were listed", Silent: silent}
}

// broken returns the answer of a search that did not end in time. g is nil if the
// search of files had not begun.
func (t *Tree) broken(g *gather, q *Query) *Answer {
	if g == nil {
		return t.unlisted(q)
	}
	if a := g.freeze(q); a != nil {
		return a
	}
	return &Answer{Incomplete: late}
}
