// Package walk lists a folder and all its descendants, caches the listing between
// queries, and updates it by looking at the stamps of every folder.
//
// It lists regular files, including hidden ones. It neither follows nor lists symbolic
// links, never opens FIFOs, sockets and devices, skips entries called .git, .jj, .hg or
// .svn, and crosses mount points. Ignore files decide what else is left out: see
// [Rules].
//
// Never stale: the result of [Tree.Refresh] is not older than its call. A folder is
// considered unchanged only if device, inode, mtime and ctime are the same, and were
// old enough, when it was read, that no later change could have the same stamps
// ("racily clean", as git calls it in Documentation/technical/racy-git). The same
// applies to ignore files.
//
// Never led astray: the caller opens the top. Everything below is opened relative to
// open folders without following links, so that replacing a folder with a link cannot
// lead the walk elsewhere. The stamps of known folders are looked at by path, which is
// faster and may follow a link. But they are only compared: a folder that has the
// stamps of a known one is that one.
//
// The stamps are sufficient on Linux. On other systems every folder is read each time.
//
// With Options.Watch and after [Tree.StartWatching] a watcher may vouch for the tree:
// then only what it reports is looked at. See watching.go for the reasons why that is
// sound.
package walk

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// openFolders is the limit of descriptors that a call may hold open. Shells
	// commonly limit a process to 1,024 or even 256.
	openFolders = 64
	// maxWorkers keeps the descriptors of all workers below openFolders, three each: a
	// folder, the base of long paths, an ignore file.
	maxWorkers = 16
	// maxPath is the limit of a path that grows without end, in bytes. It is far above
	// PATH_MAX (4,096), the limit of programs for one path.
	maxPath = 100_000
	// maxBase is the limit of the path that a folder stores itself, in bytes. Longer
	// paths are relative to that of a folder above, so that the memory of a deep tree
	// is linear and no system call gets more than PATH_MAX.
	maxBase = 1024
	// maxIgnoreFile is the limit of bytes read of an ignore file. Git allows
	// 100 MB; lists written by users have at most some KB.
	maxIgnoreFile = 1 << 20
	// direntBytes is the size of the buffer for getdents: about 1,500 entries.
	direntBytes = 64 << 10
	// stride is the number of entries handled between checks of the context.
	stride = 1024
)

// Opener opens the top folder, which its provider has checked. The caller of an Opener
// must close the file.
type Opener func() (*os.File, error)

// Racy is the minimum age of a stamp at the time of reading, for any later change to
// cause another stamp. FAT has ticks of 2 s, ext3 and HFS+ of 1 s, Linux of 4 to 10 ms
// for files whose stamps nobody queried.
const Racy = 2 * time.Second

// Options configures a Tree.
type Options struct {
	// Workers is the number of folders read at once. 0 means GOMAXPROCS; the limit is
	// 16. Cold disks benefit from more workers than there are processors.
	Workers int
	// Above returns the rules that apply from above the top. Every Refresh calls it. If
	// the value is not == to the one before, all entries are judged again, so return
	// the same one while nothing has changed. If Above or its result is nil, nothing is
	// ignored.
	Above func() Rules
	// Exclude returns the info/exclude list of the repository whose top is a folder of
	// the tree, if it is not the file .git/info/exclude: .git is a file that refers to
	// another folder, or the list is a link. It also returns whether that repository
	// ignores case. Every Refresh calls it. nil means none.
	Exclude func(dir string) (list []byte, fold bool)
	// Silent reports whether the file system of a folder of the tree does not answer.
	// Such a folder is not opened, and its Err is ErrSilent. nil means that all may be
	// opened.
	Silent func(dir string) bool
	// Watch allows StartWatching. Such a Tree must be closed.
	Watch bool
	// Racy replaces the constant, where the ticks of a file system are known. 0 means
	// the constant.
	Racy time.Duration
}

// Tree maintains the listing of a folder and its descendants. It is safe for concurrent
// use. A returned listing never changes.
type Tree struct {
	open    Opener
	options Options
	racy    time.Duration // see Racy
	ids     atomic.Uint64 // the last File.ID given

	turn     chan struct{} // holds a value while a Refresh runs; guards the fields below
	root     *node
	nodes    []*node   // all, in the order of Listing.Dirs, as of the last flatten
	batches  [][]*node // of nodes, see sweeps; nil: not made yet
	dirty    bool      // nodes may have changed since listing was made
	above    Rules     // the rules of the last Refresh
	listing  *Listing  // the last one
	watching watchState
}

// New returns the tree of the folder that open opens. It opens nothing before the first
// Refresh.
func New(open Opener, o Options) *Tree {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	o.Workers = min(o.Workers, maxWorkers)
	t := &Tree{open: open, options: o, racy: cmp.Or(o.Racy, Racy), turn: make(chan struct{}, 1)}
	t.watching.starting = make(chan struct{}, 1)
	t.watching.young, t.watching.mapping = youngStamp, youngMapping
	return t
}

// Refresh updates the listing: it looks at every known folder and every ignore file,
// and reads the changed ones again. The result is not older than the call. If nothing
// has changed it is the former listing itself, and unchanged folders are the former
// *Dir.
//
// One Refresh runs at a time; another waits and then looks for itself. Refresh returns
// the errors of the Opener, of a missing top, and of ctx, which ends it within
// milliseconds. What it has read until then is not read again. Folders that cannot be
// read are not an error: see Dir.Err.
func (t *Tree) Refresh(ctx context.Context) (*Listing, error) {
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	defer t.end()
	vouched := t.drain()
	top, err := t.openTop(ctx)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	return t.refresh(ctx, top.top, vouched && t.sameTop(top.top), nil)
}

// begin waits for the turn.
func (t *Tree) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case t.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *Tree) end() { <-t.turn }

// refresh is Refresh while it holds the turn. vouched reports that folders not marked
// as changed need not be looked at. The sweep also, if not nil, is done on the way.
func (t *Tree) refresh(ctx context.Context, top folder, vouched bool, also *sweep) (*Listing, error) {
	if err := t.check(ctx, top, vouched, also); err != nil {
		return nil, err
	}
	if !t.dirty {
		return t.listing, nil
	}
	if err := t.update(ctx, top); err != nil {
		return nil, err
	}
	if t.root.missing {
		err := t.root.dir.Err
		t.root, t.nodes, t.batches, t.listing = nil, nil, nil, nil
		t.stopWatching(err)
		return nil, fmt.Errorf("the top folder: %w", err)
	}
	t.publish()
	t.judgeWatches()
	return t.listing, nil
}

// openTop opens the top folder.
func (t *Tree) openTop(ctx context.Context) (*Top, error) {
	post := NewPost(ctx)
	defer post.Leave()
	post.enter(&place{})
	return openTop(t.open)
}

// parallel runs do n times at once and waits for all.
func parallel(n int, do func()) {
	var wait sync.WaitGroup
	for range n - 1 {
		wait.Go(do)
	}
	do()
	wait.Wait()
}
