package walk

import (
	"context"
	"errors"
	"sync"
	"time"

	"mcp-toolset/internal/search/watch"
)

// A tree is vouched for when each folder listed is watched, all are on file
// systems that tell of every change, and the stamps of all were looked at
// after that. A Refresh then begins by asking what has changed, and looks at
// nothing else. It is sound because of the order of things:
//
//   - What has changed is asked after the call came. What is read after that
//     may be newer, never older, and what changes meanwhile is told next time.
//   - A folder is watched before it is read.
//   - What is told is told of a node. A watch goes by inode, so a node that
//     loses its watch to another, because its folder was moved or is mounted
//     twice, is read again.
//
// Stamps do the same for files: see stamps.go. Whatever goes wrong ends the
// vouching, and all stamps are looked at, as without a watcher.

const (
	// watchBatch is how many folders, or files, StartWatching handles before
	// it lets others in: some 2 ms.
	watchBatch = 256
	// spareWatches is how many watches may be left over of what was moved
	// away, beside as many as are needed, before they are given back.
	spareWatches = 1000
)

// ErrNotReported says that a folder is on a file system that does not tell of
// every change. There is no use in trying again soon.
var ErrNotReported = errors.New("the file system does not tell of changes")

// vouch is what a Tree knows of its watcher; the turn guards it.
type vouch struct {
	watcher *watcher
	vouches bool    // every folder is watched and was looked at
	err     error   // why there is no watcher any more; final if it is ErrClosed
	attend  []*node // to be looked at whatever is told: see flatten
	marked  bool    // some nodes are changed that check has not seen
	all     bool    // look at every folder: the right to enter one may have changed
	memory  stampMemory

	starting       chan struct{} // holds a value while StartWatching runs
	dead           *watcher      // to be closed when there is time
	limit          int           // of watches; 0 but in tests
	young, mapping time.Duration // see the constants in stamps.go
}

// mark is the key of what is watched.
type mark struct {
	node *node
	id   uint64 // of a file of the node; 0 is the folder
}

// watcher adds watches for many workers.
type watcher struct {
	*watch.Watcher[mark]
	mu   sync.Mutex
	err  error   // why it cannot vouch
	lost []*node // that lost their watches to others
}

func (w *watcher) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

// folder watches a folder that is open.
func (w *watcher) folder(n *node, f folder) {
	former, had, err := w.Folder(f.descriptor(), mark{node: n})
	if err != nil {
		w.fail(err)
		return
	}
	n.watched = w
	if had && former.node != n && former.id == 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.lost = append(w.lost, former.node)
	}
}

// mount judges the file system of a folder, where it may be another than that
// of the folder above.
func (w *watcher) mount(n *node, f folder, s Stamp) {
	if (n.parent == nil || n.parent.key.dev != s.Dev) && !watch.Reports(f.descriptor()) {
		w.fail(ErrNotReported)
	}
}

// drain takes in what has changed, and says whether the tree is vouched for.
func (t *Tree) drain() bool {
	v := &t.vouch
	if v.watcher == nil {
		return false
	}
	if err := v.watcher.Drain(t.told); err != nil {
		t.stopVouching(err)
	}
	return v.vouches
}

// told takes in one change.
func (t *Tree) told(key mark, what watch.Kind) {
	n := key.node
	switch {
	case key.id != 0:
		t.vouch.memory.touch(key, what == watch.Ended)
		return
	case what == watch.Attributes:
		t.vouch.all = true
	case what == watch.Ended:
		n.watched = nil
	}
	n.changed, t.vouch.marked = true, true
}

// sameTop says whether the top is still the folder that is watched.
func (t *Tree) sameTop(top folder) bool {
	s, err := top.stamp()
	return err == nil && t.root != nil && s.Dev == t.root.key.dev && s.Ino == t.root.key.ino
}

// judgeWatches sees to what became of the watches in an update.
func (t *Tree) judgeWatches() {
	v := &t.vouch
	if v.watcher == nil {
		return
	}
	if err := v.watcher.err; err != nil {
		t.stopVouching(err)
		return
	}
	for _, n := range v.watcher.lost {
		if t.live(n) {
			n.changed, v.marked = true, true
		}
	}
	v.watcher.lost = nil
	if v.memory.on {
		for _, n := range t.nodes {
			if n.sight.all {
				v.memory.enqueue(n)
			}
		}
	}
}

// stopVouching gives the watcher up. That it is closed is left to
// StartWatching, since it takes long.
func (t *Tree) stopVouching(err error) {
	v := &t.vouch
	if v.watcher == nil {
		return
	}
	v.dead, v.watcher, v.vouches, v.all, v.err = v.watcher, nil, false, false, err
	t.forgetStamps()
}

// StartWatching has the tree watched, and returns nil once the watcher vouches
// for it and all stamps are known, as far as there are watches to be had. It
// is meant to be called in the background after each answer: it does what is
// left to do, and takes microseconds if that is nothing. Meanwhile it lets
// other calls in every few milliseconds. Starting takes some 5 microseconds
// for each folder and file.
//
// Any error leaves the Tree as it is without a watcher; another call may do
// better, unless the error is ErrNotReported, errors.ErrUnsupported (always
// elsewhere than on Linux, and without Options.Watch) or watch.ErrClosed. After watch.ErrLost (more changes than the kernel keeps) or
// watch.ErrFull it is well to wait for a while.
func (t *Tree) StartWatching(ctx context.Context) error {
	if !t.options.Watch || !stampsTell {
		return errors.ErrUnsupported
	}
	select {
	case t.vouch.starting <- struct{}{}:
		defer func() { <-t.vouch.starting }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := t.renewWatcher(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context, *Top) (done bool, err error){t.watchFolders, t.watchFiles} {
		for done, left := false, t.steps(); !done && left > 0; left-- {
			err := t.inTurn(ctx, func(top *Top) (err error) {
				done, err = step(ctx, top)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// steps is how many steps are enough, were nobody changing the tree: each does
// at least one folder. What is left then is for the next call.
func (t *Tree) steps() int {
	t.turn <- struct{}{}
	defer t.end()
	return 100 + 2*len(t.nodes)
}

// inTurn does one step.
func (t *Tree) inTurn(ctx context.Context, do func(*Top) error) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	defer t.end()
	if t.drain(); t.vouch.watcher == nil {
		return t.vouch.err
	}
	top, err := t.openTop(ctx)
	if err != nil {
		return err
	}
	defer top.Close()
	if err := do(top); err != nil {
		return err
	}
	if t.vouch.watcher == nil {
		return t.vouch.err
	}
	return nil
}

// renewWatcher makes a watcher if there is none, and gives back what the last
// one, or this one, needs no longer.
func (t *Tree) renewWatcher(ctx context.Context) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	v := &t.vouch
	dead := v.dead
	v.dead = nil
	err := v.err
	if v.watcher != nil {
		err = nil
		t.prune()
	} else if !errors.Is(err, watch.ErrClosed) {
		var w *watch.Watcher[mark]
		if w, err = watch.New[mark](v.limit); err == nil {
			v.watcher = &watcher{Watcher: w}
		}
	}
	t.end()
	if dead != nil {
		dead.Close()
	}
	return err
}

// prune gives watches back if there are many that serve nothing.
func (t *Tree) prune() {
	v := &t.vouch
	if t.dirty || t.listing == nil || v.watcher.Len() < spareWatches+2*(len(t.nodes)+v.memory.files()) {
		return
	}
	ids := map[uint64]bool{0: true}
	if v.memory.on {
		for _, d := range t.listing.Dirs {
			for i := range d.Files {
				ids[d.Files[i].ID] = true
			}
		}
	}
	v.watcher.Prune(func(k mark) bool { return t.live(k.node) && ids[k.id] })
}

// watchFolders watches some folders more. When all are watched it looks at the
// stamps of all.
func (t *Tree) watchFolders(ctx context.Context, top *Top) (done bool, err error) {
	v := &t.vouch
	if v.vouches {
		return true, nil
	}
	w := v.watcher
	loc := locator{top: top.top}
	defer loc.close()
	n := 0
	for _, node := range t.nodes {
		if node.watched == w || node.due() || node.retry.Load() {
			continue // to be watched when it is read
		}
		if n++; n > watchBatch || w.err != nil {
			break
		}
		w.known(&loc, node)
	}
	v.marked = true // known may have marked some
	if t.judgeWatches(); v.watcher == nil || n > watchBatch {
		return false, ctx.Err()
	}
	if _, err := t.refresh(ctx, top.top, false, nil); err != nil || v.watcher == nil {
		return false, err
	}
	for _, node := range t.nodes {
		if node.watched != w && !node.retry.Load() {
			return false, nil // once more
		}
	}
	v.vouches = true
	t.forgetStamps()
	if v.watcher.Len()+t.listing.Files <= v.watcher.Limit() {
		v.memory = stampMemory{on: true, loose: map[uint64]bool{}}
	}
	return true, nil
}

// known watches a folder that has been read before, if it is still the same.
func (w *watcher) known(loc *locator, n *node) {
	f, err := loc.enter(n.place)
	if err != nil {
		n.changed = true
		return
	}
	defer f.close()
	s, err := f.stamp()
	if err != nil || s.Dev != n.key.dev || s.Ino != n.key.ino {
		n.changed = true
		return
	}
	w.folder(n, f)
	w.mount(n, f, s)
}

// Vouched says whether a watcher vouches for the tree now, as far as is known
// without asking it.
func (t *Tree) Vouched() bool {
	t.turn <- struct{}{}
	defer t.end()
	return t.vouch.vouches
}

// Close gives the watches back. The Tree can be used on, without a watcher.
func (t *Tree) Close() {
	t.turn <- struct{}{}
	t.stopVouching(nil)
	dead := t.vouch.dead
	t.vouch.dead, t.vouch.err = nil, watch.ErrClosed
	t.end()
	if dead != nil {
		dead.Close()
	}
}
