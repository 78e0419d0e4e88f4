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

// direntBuffers are kept between calls; all are of direntBytes.
var direntBuffers = sync.Pool{New: func() any { return new([direntBytes]byte) }}

// worker visits folders, one after the other.
type worker struct {
	entries
	loc   locator
	above Rules

	exclude func(dir string) []byte
	silent  func(dir string) bool
	ids     *atomic.Uint64
	racy    time.Duration
	watch   *watcher
	files   []File // of the folder at hand, the names in a string of no use later
	dirs    []int  // entries that are folders to walk
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
			ids: &t.ids, racy: t.racy, watch: t.vouch.watcher}
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

// visit brings one folder up to date and leaves those below that are due in
// w.due. The folder is given if it was opened.
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
		w.due = w.due[:0] // broken off or gone
	}
	return f, true
}

// Gone reports whether an error of opening or looking says that what was listed
// is not there any more, or is something else now.
func Gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotRegular) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO)
}

// finish ends a visit: all of the folder is known again.
func (w *worker) finish(n *node) {
	n.changed, n.judge, n.below = false, false, false
	for _, k := range n.kids {
		if k.due() {
			w.due = append(w.due, k)
		}
	}
}

// fail notes that a folder cannot be opened or read. One that is gone, or is
// no folder any more, is left out; the parent is read again next time, since
// it may come back without leaving a trace.
func (w *worker) fail(n *node, err error) {
	if Gone(err) {
		n.gone = true
		if n.parent != nil {
			n.parent.retry.Store(true)
		}
	}
	// The same error as before leaves the folder as it is.
	if n.dir.Err == nil || n.dir.Err.Error() != err.Error() || len(n.dir.Files) > 0 {
		n.dir = &Dir{place: n.place, Err: err}
	}
	n.kids, n.key = nil, key{}
	n.retry.Store(true)
	w.finish(n)
}

// relist reads the folder f of n. It is false if that was broken off or the
// folder is gone.
func (w *worker) relist(ctx context.Context, n *node, f folder) bool {
	settled := time.Now().Add(-w.racy)
	if w.watch != nil {
		w.watch.folder(n, f) // first: what is told later is read again
		n.sight.all = true
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
		n.untold = !tells(f)
	} else {
		n.untold = n.parent.untold
	}
	n.recheck.Store(n.untold || s.key().after(settled))
	n.retry.Store(readErr != nil)
	if w.findRules(n, f, settled) {
		// Kept even if this visit is broken off: those below have not
		// been judged by the rules that n now has.
		n.judge = true
	}
	w.post.Leave()
	judged := w.judge(ctx, n.rules)
	if judged == nil {
		return false
	}
	judged.place, judged.near, judged.Err = n.place, !n.untold, readErr
	w.setDir(n, judged, another)
	n.key = s.key() // only now: whoever carries on must know that it is another
	w.setKids(n)
	w.finish(n)
	return true
}

// judge sorts the entries into w.files, w.dirs and what is left out. It is
// nil if ctx is done.
func (w *worker) judge(ctx context.Context, rules Rules) *Dir {
	d := &Dir{}
	w.files, w.dirs = w.files[:0], w.dirs[:0]
	all := string(w.names) // for rules to take; the names listed are copied once more
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

// skipped says whether a name is that of a version control system's own data,
// or of the file that leads there.
func skipped(name string) bool {
	return name == ".git" || name == ".jj" || name == ".hg" || name == ".svn"
}

// setDir makes d, with the files found, the entries of n; files that were
// there keep their IDs. If nothing changed the former Dir stays. another says
// that n is not the folder it was.
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

// setKids makes the folders found those below n. Those that were there stay:
// what they hold goes by their own stamps.
func (w *worker) setKids(n *node) {
	old := n.kids
	kids := make([]*node, 0, len(w.dirs))
	for _, i := range w.dirs {
		name := w.name(i)
		for len(old) > 0 && old[0].place.name < string(name) {
			old = old[1:]
		}
		var k *node
		if len(old) > 0 && old[0].place.name == string(name) && old[0].ino == w.list[i].ino && !old[0].gone {
			k = old[0]
			k.judge = k.judge || n.judge
		} else {
			k = newNode(n, n.place.below(string(name)), w.list[i].ino)
		}
		kids = append(kids, k)
	}
	n.kids = kids
}
