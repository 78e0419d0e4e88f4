package walk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var errTooDeep = fmt.Errorf("the path is longer than %d bytes", maxPath)

// direntBuffers is a pool of buffers of direntBytes.
var direntBuffers = sync.Pool{New: func() any { return new([direntBytes]byte) }}

// worker visits folders, one after the other.
type worker struct {
	entries
	loc   locator
	above Rules

	exclude func(dir string) ([]byte, bool)
	silent  func(dir string) bool
	ids     *atomic.Uint64
	racy    time.Duration
	watch   *watcher
	files   []File // of the current folder; the names are in a temporary string
	dirs    []int  // indexes of entries that are folders to walk
	due     []*node
}

// update visits all folders that are due.
func (t *Tree) update(ctx context.Context, top folder) error {
	workers := t.options.Workers
	q := newQueue(max(4, openFolders-3*workers))
	defer q.close()
	q.tasks = append(q.tasks, task{node: t.root})
	parallel(workers, func() {
		buf := direntBuffers.Get().(*[direntBytes]byte)
		defer direntBuffers.Put(buf)
		w := worker{loc: locator{top: top}, above: t.above, exclude: t.options.Exclude, silent: t.options.Silent,
			ids: &t.ids, racy: t.racy, watch: t.watching.watcher}
		w.buf, w.post = buf[:], NewPost(ctx)
		defer w.loc.close()
		for {
			task, ok := q.pop()
			if !ok {
				return
			}
			f, owned := w.visit(ctx, q, task)
			w.post.Leave()
			if ctx.Err() != nil {
				q.abandon()
				w.due = nil
			}
			q.done(w.due, f, owned)
		}
	})
	return ctx.Err()
}

// visit updates one folder. It leaves the due folders below it in w.due. It returns the
// folder if it was opened.
func (w *worker) visit(ctx context.Context, q *queue, t task) (f folder, owned bool) {
	w.due = w.due[:0]
	n := t.node
	if !n.changed && !n.judge {
		if t.from != nil {
			q.opened(t.from)
		}
		w.finish(n)
		return folder{}, false
	}
	var err error
	if w.silent != nil && w.silent(n.place.path()) {
		if t.from != nil {
			q.opened(t.from)
		}
		w.fail(n, ErrSilent)
		return folder{}, false
	}
	w.at = n.place
	w.post.enter(w.at)
	if t.from != nil {
		f, err = t.from.folder.read(n.place.name)
		q.opened(t.from)
	} else {
		f, err = w.loc.read(n.place)
	}
	if n.place.size > maxPath && err == nil {
		f.close()
		err = errTooDeep
	}
	if err != nil {
		w.fail(n, err)
		return folder{}, false
	}
	if !w.relist(ctx, n, f) {
		w.due = w.due[:0] // interrupted or gone
	}
	return f, true
}

// HasVanished reports whether an error of opening or looking means that a listed file does not
// exist any more, or is something else now.
func HasVanished(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotRegular) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO)
}

// finish ends a visit: the state of the folder is complete.
func (w *worker) finish(n *node) {
	n.changed, n.judge, n.below = false, false, false
	for _, k := range n.kids {
		if k.due() {
			w.due = append(w.due, k)
		}
	}
}

// fail records that a folder cannot be opened or read. A folder that is gone, or is not
// a folder any more, is removed. Its parent is read again next time, because the folder
// may come back without changing the parent's stamps.
func (w *worker) fail(n *node, err error) {
	if HasVanished(err) {
		n.missing = true
		if n.parent != nil {
			n.parent.retry.Store(true)
		}
	}
	// The same error as before leaves the Dir unchanged.
	if n.dir.Err == nil || n.dir.Err.Error() != err.Error() || len(n.dir.Files) > 0 {
		n.dir = &Dir{place: n.place, Err: err}
	}
	n.kids, n.key = nil, key{}
	n.retry.Store(true)
	w.finish(n)
}

// relist reads the folder f of n. It returns false if it was interrupted or the folder
// is gone.
func (w *worker) relist(ctx context.Context, n *node, f folder) bool {
	settled := time.Now().Add(-w.racy)
	if w.watch != nil {
		w.watch.folder(n, f) // first: changes reported after this are read again
		n.state.all = true
	}
	s, err := f.stamp()
	if err != nil {
		w.fail(n, err)
		return false
	}
	if w.watch != nil {
		w.watch.mount(n, f, s)
	}
	w.reset()
	readErr := f.entries(ctx, &w.entries)
	if errors.Is(readErr, fs.ErrNotExist) {
		w.fail(n, readErr)
		return false
	}
	if ctx.Err() != nil {
		return false
	}
	w.settle(f)
	w.post.Leave()
	if w.sort(ctx) != nil {
		return false
	}
	w.post.enter(w.at)

	another := n.key.dev != s.Dev || n.key.ino != s.Ino
	if n.parent == nil || n.parent.key.dev != s.Dev {
		n.unreliable = !hasReliableStamps(f)
	} else {
		n.unreliable = n.parent.unreliable
	}
	n.recheck.Store(n.unreliable || s.key().after(settled))
	n.retry.Store(readErr != nil)
	if w.findRules(n, f, settled) {
		// Stays set if this visit is interrupted: the folders below have not been
		// judged by the new rules of n.
		n.judge = true
	}
	w.post.Leave()
	judged := w.judge(ctx, n.rules)
	if judged == nil {
		return false
	}
	judged.place, judged.near, judged.Err = n.place, !n.unreliable, readErr
	w.setDir(n, judged, another)
	n.key = s.key() // only now: after an interruption the next visit must see the difference
	w.setKids(n)
	w.finish(n)
	return true
}

// judge sorts the entries into w.files, w.dirs and ignored ones. It returns nil if ctx
// has ended.
func (w *worker) judge(ctx context.Context, rules Rules) *Dir {
	d := &Dir{}
	w.files, w.dirs = w.files[:0], w.dirs[:0]
	all := string(w.names) // for the rules; setDir copies the listed names again
	for i, e := range w.list {
		if i%stride == stride-1 && ctx.Err() != nil {
			return nil
		}
		name := all[e.off:][:e.size]
		switch {
		case skipped(name), e.kind == kindLink, e.kind == kindSpecial:
		case rules != nil && rules.Ignored(name, e.kind == kindDir):
			d.Ignored++
		case e.kind == kindDir:
			w.dirs = append(w.dirs, i)
		default:
			w.files = append(w.files, File{Name: name, ino: e.ino})
		}
	}
	return d
}

// skipped reports whether name is the data folder of a version control system, or the
// file that refers to it.
func skipped(name string) bool {
	return name == ".git" || name == ".jj" || name == ".hg" || name == ".svn"
}

// setDir makes d, with the files found, the entries of n. Files that existed before
// keep their IDs. If nothing changed, the former Dir stays. another reports that n is
// another folder than before.
func (w *worker) setDir(n *node, d *Dir, another bool) {
	old := n.dir.Files
	if another {
		old = nil
	}
	kept, unknown, bytes := 0, 0, 0
	for i := range w.files {
		f := &w.files[i]
		bytes += len(f.Name)
		for kept < len(old) && old[kept].Name < f.Name {
			kept++
		}
		if kept < len(old) && old[kept].Name == f.Name && old[kept].ino == f.ino {
			f.ID = old[kept].ID
			continue
		}
		unknown++
	}
	if !another && unknown == 0 && len(old) == len(w.files) && n.dir.Ignored == d.Ignored && fmt.Sprint(n.dir.Err) == fmt.Sprint(d.Err) {
		return
	}
	id := w.ids.Add(uint64(unknown)) - uint64(unknown)
	names := make([]byte, 0, bytes)
	for _, f := range w.files {
		names = append(names, f.Name...)
	}
	all := string(names)
	d.Files = slices.Clone(w.files)
	for i := range d.Files {
		f := &d.Files[i]
		f.Name, all = all[:len(f.Name)], all[len(f.Name):]
		if f.ID == 0 {
			id++
			f.ID = id
		}
	}
	n.dir = d
}

// setKids makes the folders found the kids of n. Existing kids stay: their own stamps
// show whether they changed.
func (w *worker) setKids(n *node) {
	old := n.kids
	kids := make([]*node, 0, len(w.dirs))
	for _, i := range w.dirs {
		name := w.name(i)
		for len(old) > 0 && old[0].place.name < string(name) {
			old = old[1:]
		}
		var k *node
		if len(old) > 0 && old[0].place.name == string(name) && old[0].ino == w.list[i].ino && !old[0].missing {
			k = old[0]
			k.judge = k.judge || n.judge
		} else {
			k = newNode(n, n.place.below(string(name)), w.list[i].ino)
		}
		kids = append(kids, k)
	}
	n.kids = kids
}
