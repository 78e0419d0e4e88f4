package walk

import (
	"context"
	"errors"
	"sync"
	"time"

	"mcp-toolset/internal/search/watch"
)

// A tree is vouched for when each listed folder is watched, all are on file systems
// that report every change, and the stamps of all were looked at after that. A Refresh
// then begins by reading the events, and looks only at what they name. It is sound
// because of the order:
//
//   - Events are read after the call arrived. What is read after that may be newer,
//     never older. Later changes are in the next events.
//   - A folder is watched before it is read.
//   - An event refers to a node. A watch belongs to an inode, so a node that loses its
//     watch to another, because its folder was moved or is mounted twice, is read
//     again.
//
// Stamps does the same for files: see stamps.go. Any error ends the vouching. Then all
// stamps are looked at, as without a watcher.

const (
	// watchBatch is the number of folders or files that StartWatching handles before it
	// lets other calls in: about 2 ms.
	watchBatch = 256
	// spareWatches is the number of unused watches of moved files, in addition to as
	// many as are needed, above which they are removed.
	spareWatches = 1000
)

// ErrNotReported reports that a folder is on a file system that does not report every
// change. A retry soon is of no use.
var ErrNotReported = errors.New("the file system does not tell of changes")

// watchState is the state of a Tree's watcher. The turn guards it.
type watchState struct {
	watcher *watcher
	covered bool    // every folder is watched and was looked at
	err     error   // why there is no watcher any more; final if it is ErrClosed
	attend  []*node // nodes to be looked at without events: see flatten
	marked  bool    // some nodes are changed that check has not seen
	all     bool    // look at every folder: the right to enter one may have changed
	memory  stampMemory

	starting       chan struct{} // holds a value while StartWatching runs
	dead           *watcher      // to be closed when there is time
	limit          int           // of watches; 0 except in tests
	young, mapping time.Duration // see the constants in stamps.go
}

// mark is the key of a watch.
type mark struct {
	node *node
	id   uint64 // of a file of the node; 0 is the folder
}

// watcher adds watches for several workers.
type watcher struct {
	*watch.Watcher[mark]
	mu          sync.Mutex
	err         error   // why it cannot vouch
	lostWatches []*node // nodes that lost their watches to others
}

func (w *watcher) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
}

// folder watches an open folder.
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
		w.lostWatches = append(w.lostWatches, former.node)
	}
}

// mount checks the file system of a folder if it may be another than that of the folder
// above.
func (w *watcher) mount(n *node, f folder, s Stamp) {
	if (n.parent == nil || n.parent.key.dev != s.Dev) && !watch.Reports(f.descriptor()) {
		w.fail(ErrNotReported)
	}
}

// drain handles the pending events, and reports whether the tree is vouched for.
func (t *Tree) drain() bool {
	v := &t.watching
	if v.watcher == nil {
		return false
	}
	if err := v.watcher.Drain(t.handleEvent); err != nil {
		t.stopWatching(err)
	}
	return v.covered
}

// handleEvent handles one event.
func (t *Tree) handleEvent(key mark, what watch.Kind) {
	n := key.node
	switch {
	case key.id != 0:
		t.watching.memory.touch(key, what == watch.Ended)
		return
	case what == watch.Attributes:
		t.watching.all = true
	case what == watch.Ended:
		n.watched = nil
	}
	n.changed, t.watching.marked = true, true
}

// sameTop reports whether the top is still the watched folder.
func (t *Tree) sameTop(top folder) bool {
	s, err := top.stamp()
	return err == nil && t.root != nil && s.Dev == t.root.key.dev && s.Ino == t.root.key.ino
}

// judgeWatches handles the errors and lost watches of an update.
func (t *Tree) judgeWatches() {
	v := &t.watching
	if v.watcher == nil {
		return
	}
	if err := v.watcher.err; err != nil {
		t.stopWatching(err)
		return
	}
	for _, n := range v.watcher.lostWatches {
		if t.live(n) {
			n.changed, v.marked = true, true
		}
	}
	v.watcher.lostWatches = nil
	if v.memory.on {
		for _, n := range t.nodes {
			if n.state.all {
				v.memory.enqueue(n)
			}
		}
	}
}

// stopWatching drops the watcher. StartWatching closes it later, because that takes
// long.
func (t *Tree) stopWatching(err error) {
	v := &t.watching
	if v.watcher == nil {
		return
	}
	v.dead, v.watcher, v.covered, v.all, v.err = v.watcher, nil, false, false, err
	t.forgetStamps()
}

// StartWatching starts to watch the tree. It returns nil once the watcher vouches for
// the tree and all stamps are cached, as far as the limit of watches allows. Call it in
// the background after each answer: it does what is left to do, and takes microseconds
// if there is nothing. Meanwhile it lets other calls in every few milliseconds.
// Starting takes about 5 microseconds for each folder and file.
//
// After an error the Tree works without a watcher. Another call may succeed, unless the
// error is ErrNotReported, errors.ErrUnsupported (always on other systems than Linux,
// and without Options.Watch) or watch.ErrClosed. After watch.ErrLost (more changes than
// the kernel queues) or watch.ErrFull the caller should wait for a while.
func (t *Tree) StartWatching(ctx context.Context) error {
	if !t.options.Watch || !stampsReliable {
		return errors.ErrUnsupported
	}
	select {
	case t.watching.starting <- struct{}{}:
		defer func() { <-t.watching.starting }()
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

// steps returns the number of steps that suffice if the tree does not change: each
// handles at least one folder. The rest is left for the next call.
func (t *Tree) steps() int {
	t.turn <- struct{}{}
	defer t.end()
	return 100 + 2*len(t.nodes)
}

// inTurn does one step while it holds the turn.
func (t *Tree) inTurn(ctx context.Context, do func(*Top) error) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	defer t.end()
	if t.drain(); t.watching.watcher == nil {
		return t.watching.err
	}
	top, err := t.openTop(ctx)
	if err != nil {
		return err
	}
	defer top.Close()
	if err := do(top); err != nil {
		return err
	}
	if t.watching.watcher == nil {
		return t.watching.err
	}
	return nil
}

// renewWatcher makes a watcher if there is none. It closes a dropped watcher, and
// removes unused watches of a live one.
func (t *Tree) renewWatcher(ctx context.Context) error {
	if err := t.begin(ctx); err != nil {
		return err
	}
	v := &t.watching
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

// prune removes unused watches if there are many.
func (t *Tree) prune() {
	v := &t.watching
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

// watchFolders watches some more folders. When all are watched, it looks at the stamps
// of all.
func (t *Tree) watchFolders(ctx context.Context, top *Top) (done bool, err error) {
	v := &t.watching
	if v.covered {
		return true, nil
	}
	w := v.watcher
	loc := locator{top: top.top}
	defer loc.close()
	n := 0
	for _, node := range t.nodes {
		if node.watched == w || node.due() || node.retry.Load() {
			continue // watched when it is read
		}
		if n++; n > watchBatch || w.err != nil {
			break
		}
		w.watchKnown(&loc, node)
	}
	v.marked = true // known may have changed some
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
	v.covered = true
	t.forgetStamps()
	if v.watcher.Len()+t.listing.Files <= v.watcher.Limit() {
		v.memory = stampMemory{on: true, loose: map[uint64]bool{}}
	}
	return true, nil
}

// watchKnown watches a folder that was read before, if it is still the same.
func (w *watcher) watchKnown(loc *locator, n *node) {
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

// Covered reports whether a watcher vouches for the tree now, as far as is known
// without reading events.
func (t *Tree) Covered() bool {
	t.turn <- struct{}{}
	defer t.end()
	return t.watching.covered
}

// Close closes the watcher. The Tree can still be used, without a watcher.
func (t *Tree) Close() {
	t.turn <- struct{}{}
	t.stopWatching(nil)
	dead := t.watching.dead
	t.watching.dead, t.watching.err = nil, watch.ErrClosed
	t.end()
	if dead != nil {
		dead.Close()
	}
}
