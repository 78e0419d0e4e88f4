// Package search finds lines in the files of a tree, and files by name. It
// puts together what the packages below it do, each one thing: walk and ignore
// say which files there are, match which lines match, source how bytes are
// read, index what need not be read.
//
// Its rules:
//   - Never stale: an answer is what a fresh look at every file after the call
//     came would give. What is kept between queries only says what need not be
//     read, and is believed only of files that prove to be as they were, by
//     their stamps now. Every line of an answer was read from its file for
//     this answer.
//   - The answer to a query does not depend on how many work on it: files are
//     taken up in a fixed order, and their results put together in it.
//   - Memory is bounded: results beyond the page asked for are counted, not
//     kept, and the index has a limit over all trees.
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
	// DefaultIndex is the most memory that all indexes take, in bytes.
	DefaultIndex = 256 << 20
	// maxTrees is how many trees are kept: more than anybody searches in turn.
	maxTrees = 32
)

// Options says what a Searcher may use.
type Options struct {
	// Index is the most memory for indexes, in bytes; negative: none are made,
	// and every query reads all files. 0 is DefaultIndex.
	Index int64
	// Watch trusts a watcher of the system where there is one, instead of looking
	// at every file's stamp. It is not told of stores through a shared memory
	// mapping.
	Watch bool
	// Home and Getenv are where the user's own ignore rules are found, as git
	// does. Getenv nil: os.Getenv.
	Home   string
	Getenv func(string) string
}

// Searcher keeps what is known of trees between queries. It is safe for
// concurrent use.
type Searcher struct {
	options Options
	workers int
	indexed atomic.Int64  // memory of all indexes, in bytes
	queries *busy         // running ones: making indexes waits for them
	racy    time.Duration // see walk.Racy
	retry   time.Duration // see the constant

	patience, grace time.Duration // see the constants
	silent          silent

	ctx   context.Context // of what runs in the background
	close context.CancelFunc

	mu    sync.Mutex
	trees map[string]*Tree
	used  []*Tree // the latest used last
	done  bool
	build sync.WaitGroup
}

// New makes a Searcher. It ends with Close.
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

// Tree is the tree of the folder at a canonical path, which open opens. What
// open gives is judged by the caller, for each query anew.
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

// LeftOut is the file or folder at a canonical path, or a folder above it, that
// ignore files leave out; "" if none does.
func (s *Searcher) LeftOut(path string) string {
	a := above{top: path, home: s.options.Home, getenv: s.options.Getenv}
	a.look()
	return a.leftOut()
}

// drop forgets a tree, if it has not been yet; queries that have it go on with
// it. s.mu is held.
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

// Close ends what runs in the background and waits for it, except for what waits
// for a file system that does not answer. Its error is nil.
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

// busy counts running queries, and lets work in the background wait until
// there are none.
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

// wait returns when no query runs; false says that all is over.
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
