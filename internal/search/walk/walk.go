// Package walk lists a folder and all below it, keeps the listing between
// queries, and brings it up to date by looking at every folder's stamps.
//
// What is listed: regular files, hidden ones too. Symbolic links are not
// followed and not listed; FIFOs, sockets and devices are never opened; what
// is called .git, .jj, .hg or .svn is skipped; mount points are crossed.
// Ignore files decide what else is left out: see [Rules].
//
// Never stale: what [Tree.Refresh] gives is not older than its call. A folder
// is taken as unchanged only if device, inode, mtime and ctime are the same
// and were not so young, when it was read, that a later change could carry
// the same stamps ("racily clean", as git calls it in
// Documentation/technical/racy-git). Ignore files are judged the same way.
//
// Never led astray: the caller opens the top. All below is opened relative to
// open folders without following links, so that whoever swaps a folder for a
// link meanwhile leads the walk nowhere else. The stamps of known folders are
// looked at by path, which is quicker and may pass a link, but they are only
// compared: a folder that has the stamps of a known one is that one.
//
// The stamps are enough on Linux. Elsewhere every folder is read each time.
//
// With Options.Watch and after [Tree.StartWatching] a watcher may vouch for
// the tree: then only what it names is looked at. See vouch.go for what it
// rests on.
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
	// openFolders is how many descriptors a call may hold open. Shells
	// commonly give a process 1,024 or even 256.
	openFolders = 64
	// maxWorkers keeps the descriptors of all workers below openFolders,
	// three each: a folder, the base of long paths, an ignore file.
	maxWorkers = 16
	// maxPath ends a path that grows for ever, in bytes. It is far above
	// what programs can name at once (PATH_MAX, 4,096).
	maxPath = 100_000
	// maxBase is the bytes of a path that a folder keeps of its own. Longer
	// paths are relative to that of a folder above, so that the memory of a
	// deep tree stays linear and no call gets more than PATH_MAX.
	maxBase = 1024
	// maxIgnoreFile is how much of an ignore file is read. Git allows 100 MB;
	// lists of more than some KB are not written by people.
	maxIgnoreFile = 1 << 20
	// direntBytes is the room for one getdents: some 1,500 entries.
	direntBytes = 64 << 10
	// stride is how many entries are handled between looks at the context.
	stride = 1024
)

// Opener opens the top folder, already judged by the caller. The caller of an
// Opener closes what it gives.
type Opener func() (*os.File, error)

// Racy is how young a stamp may be when something is read for a later change to be
// sure of another stamp: FAT has ticks of 2 s, ext3 and HFS+ of 1 s, Linux 4 to 10 ms
// for what nobody asked about.
const Racy = 2 * time.Second

// Options says how a tree is walked.
type Options struct {
	// Workers is how many folders are read at once: 0 is GOMAXPROCS, more
	// than 16 is 16. Cold disks gain from more than there are processors.
	Workers int
	// Above gives the rules that hold above the top; it is called at every
	// Refresh. A value that is not == the former has all judged again, so
	// give the same one while nothing changed. Nil, or nil rules, ignore
	// nothing.
	Above func() Rules
	// Exclude gives the info/exclude list of the repository whose top is a
	// folder of the tree, where that is not .git/info/exclude itself: .git is
	// a file that leads elsewhere, or the list is a link. It is called at every
	// Refresh. Nil: there is none.
	Exclude func(dir string) []byte
	// Silent reports that the file system does not answer for a folder of the
	// tree: it is not opened, and its Err is ErrSilent. Nil: all may be opened.
	Silent func(dir string) bool
	// Watch allows StartWatching. Such a Tree ends with Close.
	Watch bool
	// Racy is instead of the constant, where the ticks of a file system are known;
	// 0 is the constant.
	Racy time.Duration
}

// Tree is the listing of one folder and all below it. It is safe for
// concurrent use. A listing handed out never changes.
type Tree struct {
	open    Opener
	options Options
	racy    time.Duration // see Racy
	ids     atomic.Uint64 // the last File.ID given

	turn    chan struct{} // holds a value while a Refresh runs; guards all below
	root    *node
	nodes   []*node   // all, in the order of Listing.Dirs; as the last flatten saw them
	batches [][]*node // of nodes, see sweeps; nil: not made yet
	dirty   bool      // nodes may have changed since listing was made
	above   Rules     // what the last Refresh was given
	listing *Listing  // the last one
	vouch   vouch
}

// New makes the tree of the folder that open opens. Nothing is opened before
// the first Refresh.
func New(open Opener, o Options) *Tree {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	o.Workers = min(o.Workers, maxWorkers)
	t := &Tree{open: open, options: o, racy: cmp.Or(o.Racy, Racy), turn: make(chan struct{}, 1)}
	t.vouch.starting = make(chan struct{}, 1)
	t.vouch.young, t.vouch.mapping = youngStamp, youngMapping
	return t
}

// Refresh brings the listing up to date: every folder known and every ignore
// file is looked at, and those that changed are read again. What it returns
// is not older than the call. If nothing changed it is the former listing
// itself, and folders that did not change are the former *Dir.
//
// One Refresh runs at a time; another waits and then looks for itself. Errors
// are those of the Opener, of a top that is gone, and of ctx, which is obeyed
// within milliseconds; what was read till then is not read again. Folders
// that cannot be read are no error: see Dir.Err.
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

// refresh is Refresh once it is its turn. vouched says that folders which are
// not marked as changed need not be looked at, also what is done on the way; nil:
// nothing.
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
	if t.root.gone {
		err := t.root.dir.Err
		t.root, t.nodes, t.batches, t.listing = nil, nil, nil, nil
		t.stopVouching(err)
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

// parallel runs n goroutines and waits for them.
func parallel(n int, do func()) {
	var wait sync.WaitGroup
	for range n - 1 {
		wait.Go(do)
	}
	do()
	wait.Wait()
}
