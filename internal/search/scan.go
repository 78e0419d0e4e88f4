package search

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"mcp-toolset/internal/bounded"
	"mcp-toolset/internal/search/index"
	"mcp-toolset/internal/search/source"
	"mcp-toolset/internal/search/walk"
)

// maxBatch is the number of files that a worker takes at a time: neighbours share their
// folder. pageBatch is the same for a page, so that little is searched in vain once it
// is full. shares is the minimum number of batches per worker, because large files are
// often neighbours.
const maxBatch, pageBatch, shares = 16, 4, 8

// muchText is the size, in bytes, from which a file's stamp is checked before reading:
// one more look takes as long as reading some KB.
const muchText = 64 << 10

const late = "time was up"

// Search answers a query. If the deadline ends the search, Answer.Incomplete gives the
// reason; Answer.Silent lists the folders that do not answer. Search returns the errors
// of ctx and of opening the top, and [walk.ErrSilent].
func (t *Tree) Search(ctx context.Context, q *Query) (*Answer, error) {
	t.s.queries.begin()
	defer t.s.queries.end()
	own := *q
	own.picking = new(sync.Mutex)
	undo := func() {}
	if q.Out != nil {
		undo = q.Out.Mark()
	}
	for t, q := t, &own; ; t, q = t.s.Tree(t.top, t.open), q.again() { // an abandoned attempt keeps its own
		var g atomic.Pointer[gather]
		a, err := attempt(ctx, t, t.s.remaining(q.Deadline), func(ctx context.Context) (*Answer, error) { return t.search(ctx, q, &g) })
		switch {
		case errors.Is(err, bounded.ErrTime):
			a, err = t.broken(g.Load(), q), nil
		case errors.Is(err, errTreeBlocked):
			g.Load().abandon()
			undo()
			continue
		}
		if err != nil {
			g.Load().abandon()
			return nil, err
		}
		return a, nil
	}
}

// search is Search on this tree. It stores its gather before it searches files.
func (t *Tree) search(ctx context.Context, q *Query, gathering *atomic.Pointer[gather]) (*Answer, error) {
	var p *plan // what the index may learn from
	defer func() {
		t.done(p)
		t.index(p)
		t.watch()
	}()
	a := new(Answer)
	limited := ctx
	if !q.Deadline.IsZero() {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, q.Deadline)
		defer cancel()
	}
	var err error
	p, err = t.plan(limited, q, a)
	switch {
	case err != nil && ctx.Err() == nil && limited.Err() != nil:
		return t.unlisted(q), nil
	case err != nil:
		return nil, err
	}
	if q.Listed != nil {
		q.Listed(len(p.jobs))
	}
	a.Closed, p.gathering = a.Unreadable, gathering
	switch err := t.run(limited, q, p, a); {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !errors.Is(err, context.DeadlineExceeded):
		return nil, err
	case a.Incomplete == "" && !a.More:
		a.Incomplete = late
	}
	return a, nil
}

// run searches the files of a plan.
func (t *Tree) run(ctx context.Context, q *Query, p *plan, a *Answer) error {
	top, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer top.Close()
	paged := *q
	if !p.sorted {
		paged.Offset, paged.Limit = 0, 0 // all of them, to be sorted
	}
	g := newGather(&paged, len(p.jobs), !p.sorted, a)
	if p.gathering != nil {
		p.gathering.Store(g)
	}
	batch := max(1, min(maxBatch, len(p.jobs)/(shares*t.s.workers)))
	if paged.page() > 0 {
		batch = min(batch, pageBatch)
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	work := func() {
		w := worker{t: t, q: &paged, p: p, g: g, top: top, reader: source.Get(), post: walk.NewPost(ctx)}
		w.bind(ctx)
		defer w.end()
		for {
			to := int(next.Add(int64(batch)))
			w.first = to - batch
			for i := w.first; i < min(to, len(p.jobs)); i++ {
				if !g.needsMore() {
					return
				}
				if ctx.Err() != nil {
					g.stop(late)
					return
				}
				w.job = i
				if f := w.search(ctx, p.jobs[i]); f != nil {
					w.deliver(i+1, f)
				}
			}
			w.deliver(min(to, len(p.jobs)), nil)
			if to >= len(p.jobs) {
				return
			}
		}
	}
	for range t.s.workers - 1 {
		wait.Go(work)
	}
	work()
	wait.Wait()
	p.hasNew = p.hasNew || g.stale
	if !g.finish(q) {
		return context.Canceled // nobody waits any more
	}
	return ctx.Err()
}

// open opens the top of the listing.
func (p *plan) open(ctx context.Context) (*walk.Top, error) {
	post := walk.NewPost(ctx)
	post.Enter(p.listing.Root())
	defer post.Leave()
	return p.listing.Open()
}

// order sorts the files of Names and selects the page.
func (g *gather) order(q *Query) {
	a := g.answer
	slices.SortFunc(g.names, func(x, y *found) int {
		if c := cmp.Compare(y.mtime, x.mtime); c != 0 {
			return c
		}
		return strings.Compare(x.path, y.path)
	})
	from, to := min(q.Offset, len(g.names)), len(g.names)
	if end := q.page(); end > 0 {
		to = min(to, end)
	}
	a.Files = a.Files[:0]
	for _, f := range g.names[min(from, to):to] {
		a.Files = append(a.Files, File{f.path, f.hits})
	}
}

// worker searches files one after the other.
type worker struct {
	t           *Tree
	q           *Query
	p           *plan
	g           *gather
	top         *walk.Top
	reader      *source.Reader
	job         int      // the number of the file in the plan
	first       int      // the first job that was not put
	own         []*found // results, if they may arrive in any order: no waiting
	named       bool     // whether the caller named the file: then it is always searched
	known       kind     // recorded kind of the file
	bytes       int64    // bytes read of the file
	binaryMatch bool     // whether the file is binary and has a match
	noted       string   // see note
	checks      bool     // whether a text that is not UTF-8 ends the pass
	older       bool     // it has ended for that reason
	nul         int64    // offset of the first NUL of the file, -1 if none was seen
	c           collector
	near        []index.Range // the ranges of the file that are read
	part        []byte        // buffer for a part of a range

	// See bind.
	stop   func() bool
	window func() (skip, keep int)
	each   func(source.Chunk) (more bool)
	stream func() (given bool)
	undo   func() // removes the file's text from the answer; nil: there is none

	post   *walk.Post
	open   posted // the current file
	pace   walk.Pace
	dir    int32 // the open folder
	folder *walk.Folder
	path   string // of folder
	err    error  // why folder is not open
}

// deliver passes on the result of the job before to; nil if it has none. It is not called
// for each job, because it may wait for others.
func (w *worker) deliver(to int, f *found) {
	switch {
	case !w.g.later:
		w.g.deliver(w.first, to, f)
		w.first = to
	case f != nil:
		w.own = append(w.own, f)
	case len(w.own) > 0:
		w.g.deliverAll(w.own)
		w.own = w.own[:0]
	}
}

func (w *worker) end() {
	w.g.deliverAll(w.own)
	w.reader.Release()
	if w.folder != nil {
		w.folder.Close()
	}
}

// enter opens the folder of a job.
func (w *worker) enter(dir int32) {
	if w.dir == dir && (w.folder != nil || w.err != nil) {
		return
	}
	if w.folder != nil {
		w.folder.Close()
	}
	d := w.p.listing.Dirs[dir]
	w.dir, w.path = dir, d.Path()
	w.post.Enter(d)
	w.folder, w.err = w.top.Folder(d, &w.pace)
	w.post.Leave()
	if w.err != nil {
		w.folder = nil
	}
}

// search searches a file. It returns nil if the file has no result.
func (w *worker) search(ctx context.Context, j job) *found {
	w.enter(j.dir)
	w.bytes, w.undo = 0, nil
	name := w.p.listing.Dirs[j.dir].Files[j.file].Name
	f, err := w.file(ctx, j, name)
	w.addNote()
	switch {
	case err != nil && ctx.Err() != nil:
		w.g.note(late)
	case err != nil && walk.HasVanished(err):
	case err != nil && f == nil:
		f = &found{path: join(w.path, name), failed: true, skipped: true}
	case err != nil:
		f.failed = true
	}
	if f != nil && (w.q.Show == nil || w.q.Show(f.path)) {
		f.bytes = w.bytes
		return f
	}
	if w.bytes > countBytes/countOn {
		return &found{skipped: true, bytes: w.bytes}
	}
	return nil
}

// file opens and reads a file.
func (w *worker) file(ctx context.Context, j job, name string) (*found, error) {
	if w.err != nil {
		return nil, w.err
	}
	if j.known != unknown {
		f, err := w.inState(ctx, j, name)
		if !errors.Is(err, source.ErrChanged) {
			return f, err
		}
		w.discardText()
		w.noted = "" // ranges of another text may begin within a line
	}
	w.post.Enter(w.p.listing.Dirs[j.dir])
	file, stamp, err := w.folder.Open(name)
	w.post.Leave()
	if err != nil {
		return nil, err
	}
	w.open = posted{file, w.post, w.p.listing.Dirs[j.dir]}
	h := &w.open
	defer h.Close()
	if j.known != unknown && w.t.recordable(stamp) {
		w.g.changed()
	}
	f, err := w.read(ctx, h, stamp.Size, w.path, name, 0, nil)
	return f.at(stamp), err
}

// inState searches a file on the assumption that it is in its recorded state. It
// returns ErrChanged if it is not.
func (w *worker) inState(ctx context.Context, j job, name string) (*found, error) {
	w.post.Enter(w.p.listing.Dirs[j.dir])
	file, err := w.folder.OpenKnown(name)
	w.post.Leave()
	if err != nil {
		return nil, err
	}
	w.open = posted{file, w.post, w.p.listing.Dirs[j.dir]}
	h := &w.open
	defer h.Close()
	stamp := w.p.stamp(j)
	same := func() bool {
		now, err := h.Stamp()
		now.Links = stamp.Links // a record does not contain them
		return err == nil && now == stamp
	}
	if w.p.bytes(j) > muchText && !same() {
		return nil, source.ErrChanged
	}
	f, err := w.parts(ctx, j, h, stamp.Size, name)
	if !same() {
		return nil, source.ErrChanged
	}
	return f.at(stamp), err
}

// parts searches the ranges of a file that can match.
func (w *worker) parts(ctx context.Context, j job, file io.ReaderAt, size int64, name string) (*found, error) {
	ranges, mark := w.p.ranges[j.from:j.to], int64(j.mark)
	if slices.ContainsFunc(ranges, index.Range.Wide) {
		w.near = w.near[:0]
		for _, r := range ranges {
			if r.Wide() {
				switch part, err := w.nearPart(file, mark, r); {
				case err != nil: // reading the range reports the error
				case !w.q.Match.Near(part):
					continue
				case j.known == binary && !source.Cuts(r.End-r.Start) && w.q.Match.Holds(part):
					return w.binary(join(w.path, name)), nil
				}
			}
			w.near = append(w.near, r)
		}
		if ranges = w.near; len(ranges) == 0 {
			return nil, nil
		}
	}
	w.known = j.known
	defer func() { w.known = unknown }()
	return w.read(ctx, file, size, w.path, name, mark, ranges)
}

// nearPart reads the part of a range that contains something of every match.
func (w *worker) nearPart(file io.ReaderAt, mark int64, r index.Range) ([]byte, error) {
	from, to := r.From, min(r.To+int64(w.q.Match.Reach()), r.End)
	w.part = slices.Grow(w.part[:0], int(to-from))[:to-from]
	n, err := io.ReadFull(io.NewSectionReader(file, mark+from, to-from), w.part)
	w.bytes += int64(n)
	return w.part, err
}

// at sets the time of a result that is not nil.
func (f *found) at(s walk.Stamp) *found {
	if f != nil {
		f.mtime = s.Mtime
	}
	return f
}
