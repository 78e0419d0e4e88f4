// Package search finds lines in the files of a tree, and files by name. It combines the
// packages below it: walk and ignore list the files, match finds the lines that match,
// source reads bytes, and index finds what need not be read.
//
// Its rules:
//   - Never stale: an answer is what a fresh look at every file after the arrival of
//     the call would give. State cached between queries only selects what need not be
//     read. It is used only for files whose current stamps prove that they have not
//     changed. Every line of an answer was read from its file for this answer.
//   - Deterministic: the answer does not depend on the number of workers. Files are
//     searched in a fixed order, and their results are combined in that order.
//   - Memory is bounded: results beyond the requested page are only counted, and the
//     index has a limit over all trees.
package search

import (
	"context"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/bounded"
	"mcp-toolset/internal/search/walk"
)

const (
	// DefaultIndex is the default limit of memory for all indexes, in bytes.
	DefaultIndex = 256 << 20
	// maxTrees is the limit of cached trees: more than a client searches in turn.
	maxTrees = 32
)

// Options configures a Searcher.
type Options struct {
	// Index is the limit of memory for indexes, in bytes. If it is negative, no index
	// is made and every query reads all files. 0 means DefaultIndex.
	Index int64
	// Watch trusts a watcher of the operating system, where there is one, instead of
	// looking at every file's stamp. A watcher does not report stores through a shared
	// memory mapping.
	Watch bool
	// Home and Getenv locate the user's own ignore rules as git does. Getenv nil means
	// os.Getenv.
	Home   string
	Getenv func(string) string
}

// Searcher caches what is known of trees between queries. It is safe for concurrent
// use.
type Searcher struct {
	options Options
	workers int
	indexed atomic.Int64  // memory of all indexes, in bytes
	queries *busy         // running queries; indexing waits for them
	racy    time.Duration // see walk.Racy
	retry   time.Duration // see the constant

	patience, grace time.Duration // see the constants
	silent          silent

	ctx   context.Context // of the work in the background
	close context.CancelFunc

	mu    sync.Mutex
	trees map[string]*Tree
	used  []*Tree // the most recently used last
	done  bool
	build sync.WaitGroup
}

// New returns a Searcher. The caller must call Close.
func New(o Options) *Searcher {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Index == 0 {
		o.Index = DefaultIndex
	}
	s := &Searcher{options: o, workers: min(runtime.GOMAXPROCS(0), 16), trees: map[string]*Tree{}, queries: newBusy(), racy: walk.Racy, retry: retry, patience: patience, grace: grace}
	s.ctx, s.close = context.WithCancel(context.Background())
	return s
}

// Tree returns the tree of the folder at a canonical path. open opens the folder. The
// caller must check the access to the folder for each query.
func (s *Searcher) Tree(top string, open walk.Opener) *Tree {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.trees[top]
	if t == nil {
		t = newTree(s, top, open)
		s.trees[top] = t
	}
	s.used = append(slices.DeleteFunc(s.used, func(u *Tree) bool { return u == t }), t)
	for len(s.used) > maxTrees || len(s.used) > 1 && s.indexed.Load() > s.limit() {
		s.drop(s.used[0])
	}
	return t
}

// LeftOut returns path, a canonical path, or the folder above it that ignore files
// exclude, or "" if none is excluded.
func (s *Searcher) LeftOut(path string) string {
	a := above{top: path, home: s.options.Home, getenv: s.options.Getenv}
	a.look()
	return a.leftOut()
}

// drop removes a tree, if it is still there. Queries that use it continue. s.mu must be
// held.
func (s *Searcher) drop(t *Tree) {
	if s.trees[t.top] == t {
		delete(s.trees, t.top)
	}
	s.used = slices.DeleteFunc(s.used, func(u *Tree) bool { return u == t })
	t.forget()
	if s.options.Watch && !s.done { // Close waits for build
		s.build.Go(t.list.Close)
	}
}

func (s *Searcher) limit() int64 { return max(s.options.Index, 0) }

// Close ends the work in the background and waits for it, but not for a file system
// that does not answer. Its error is nil.
func (s *Searcher) Close() error {
	s.mu.Lock()
	s.done = true
	s.mu.Unlock()
	s.close()
	s.queries.close()
	_, _ = bounded.Do(context.Background(), closeTime, func(context.Context) (struct{}, error) {
		s.build.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, t := range s.trees {
			t.list.Close()
		}
		return struct{}{}, nil
	})
	return nil
}

// busy counts running queries. Work in the background can wait until there are none.
type busy struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   *sync.Cond // of mu
}

func newBusy() *busy {
	b := new(busy)
	b.idle = sync.NewCond(&b.mu)
	return b
}

func (b *busy) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
}

func (b *busy) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n--; b.n == 0 {
		b.idle.Broadcast()
	}
}

// wait waits until no query runs. It returns false if busy is closed.
func (b *busy) wait() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.n > 0 && !b.closed {
		b.idle.Wait()
	}
	return !b.closed
}

func (b *busy) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.idle.Broadcast()
}
