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
//
// # Details
//
//   - walk lists the tree with getdents and caches the listing; later it compares
//     stamps of folders and ignore files. A stamp younger than 2 s when the file was
//     read proves nothing. On file systems whose stamps are cached or meaningless
//     (network, FUSE, /proc), folders are listed and files read each time.
//   - The first search reads every chosen file; then the index is built while no query
//     runs: for each 16 KiB a Bloom filter of its 3- and 4-grams, no posting lists, so
//     that a changed file is a few bits. Filters are bit-sliced: 64 of one size lie
//     together, so a question reads one word of all (one after the other took four
//     times as long).
//   - A later search asks the index, folder by folder, which chosen files can match if
//     they are as known. The others are stat'ed in one pass with the folders;
//     candidates are opened anyway and checked when read. Either kind, if changed, is
//     read whole. So each file is looked at once. Which files are chosen is asked of
//     the listing before, without holding the walk, so that a slow glob delays no other
//     search.
//   - In a range of lines much longer than its candidate blocks (a minified bundle, a
//     program), candidate blocks are read first, for the literal that the index was
//     asked for.
//   - Files are taken in a fixed order and merged in it, so the answer does not depend
//     on the number of workers. Searching stops when the page is full, unless few files
//     are left (500, 64 MiB), which are counted.
//   - watch (--search-watch=on): every folder and file has an inotify watch, because a
//     store through a hard link elsewhere is reported only to the file's. Off by
//     default: a store through a shared mapping is stamped without an event. Overflow,
//     a mount, a replaced folder or a limit: back to stamps. From the third search on
//     that finds everything unchanged, files are not compared with their records again
//     (recall): that was a quarter of a call without matches.
//   - Files of small folders are stat'ed by path, which is quicker than opening the
//     folder. Where a local file system answers from memory, the Go scheduler is not
//     told of the calls (walk.Pace), a tenth of each; it is told until 32 answers in a
//     row came quickly. Small folders come first (large ones first took 5 % more).
//   - A silent file system: walk.Monitor notes which folder each worker waits for. A
//     worker that waits for one system call for 3 to 6 s makes the tree lost: the
//     folder is remembered as silent (silent.go) and every search of the tree begins
//     again without it. When the call returns, it is silent no longer.
//   - dfa: package regexp finds lines at 20 to 60 MB/s, a line-oriented automaton with
//     four cursors at over 1,000. dfa.Text finds matches that span lines and
//     expressions too large for the automaton; it has Unicode word boundaries, no match
//     of invalid bytes, and ends when the caller gives up. Two bytes of a literal in
//     any case are searched together; the only assembly is pair_amd64.s (a first search
//     of that kind took a tenth longer without). A single byte that every match has is
//     no start unless its neighbours can stand there (around.go):
//     [0-9a-f]{8}-[0-9a-f]{4} took a tenth longer without.
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

	silentCheck, grace time.Duration // see the constants
	silent             silent

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
	s := &Searcher{options: o, workers: min(runtime.GOMAXPROCS(0), 16), trees: map[string]*Tree{}, queries: newBusy(), racy: walk.Racy, retry: retry, silentCheck: silentCheck, grace: grace}
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

// IgnoredBy returns path, a canonical path, or the folder above it that ignore files
// exclude, or "" if none is excluded.
func (s *Searcher) IgnoredBy(path string) string {
	a := above{top: path, home: s.options.Home, getenv: s.options.Getenv}
	a.look()
	return a.ignoredFolder()
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
