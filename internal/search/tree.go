package search

import (
	"cmp"
	"context"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/search/index"
	"mcp-toolset/internal/search/walk"
)

// racy is how old the stamp of a file must be when the file is read for a later
// change to be sure to give it another one: see package walk.
const racy = 2 * time.Second

const (
	// stride is how many files are handled between looks at the context.
	stride = 256
	// fewFiles are quicker judged by one worker: some 100 microseconds.
	fewFiles = 1000
)

// Tree is a folder and all below it, with what is known of it. It is safe for
// concurrent use.
type Tree struct {
	s     *Searcher
	top   string
	list  *walk.Tree
	above *above
	spare sync.Pool // of *[]walk.Stamp

	plain  atomic.Bool   // the file system does not tell of every change: nothing is kept
	device atomic.Uint64 // of the top; of files on others nothing is kept

	mu       sync.RWMutex
	records  []record // by walk.File.ID
	store    index.Store
	held     int64 // memory of both, in bytes
	ready    bool  // there are records
	building bool
	built    *walk.Listing // of the last time that records were made
	gone     bool          // forgotten by the Searcher

	watching    bool      // a watcher is being set up
	unwatchable bool      // there can be none
	failed      time.Time // when that could not be done last
}

// record is what is known of one state of a file. The zero record is nothing.
type record struct {
	ino          uint64
	size         int64
	mtime, ctime int64
	kind         kind
}

// kind is what a file was when it was read.
type kind uint8

const (
	unknown  kind = iota
	signed        // a text with a signature
	unsigned      // a text without: one that is searched decoded, or too large
	binary        // has a NUL; with a signature, of its bytes, unless it is too large
)

// recordSize is the memory of a record, in bytes.
const recordSize = 40

func newTree(s *Searcher, top string, open walk.Opener) *Tree {
	t := &Tree{s: s, top: top}
	o := walk.Options{Workers: s.workers, Watch: s.options.Watch}
	t.above = &above{top: top, home: s.options.Home, getenv: s.options.Getenv}
	o.Above, o.Exclude = t.above.look, t.above.exclude
	t.list = walk.New(func() (*os.File, error) {
		f, err := open()
		if err == nil {
			ok, dev := walk.Tells(f)
			t.device.Store(dev)
			t.plain.Store(!ok)
		}
		return f, err
	}, o)
	return t
}

// recordOf is the record of a file in the state of a stamp.
func recordOf(s walk.Stamp, k kind) record {
	return record{ino: s.Ino, size: s.Size, mtime: s.Mtime, ctime: s.Ctime, kind: k}
}

// knows returns the record of a file if it is that of the state stamped.
func (t *Tree) knows(id uint64, s walk.Stamp) (record, bool) {
	if id >= uint64(len(t.records)) || s.Dev != t.device.Load() {
		return record{}, false
	}
	r := t.records[id]
	return r, r.kind != unknown && r == recordOf(s, r.kind)
}

// job is a file to be searched.
type job struct {
	dir  int32
	file int32
	// ranges from..to of plan.ranges are what can match; none: all of it.
	from, to int32
	known    kind // of the state that the plan saw
	mark     int8 // where there are ranges: the length of the byte order mark before the text
}

// plan is which files are searched, in the order of the answer.
type plan struct {
	listing *walk.Listing
	stamps  []walk.Stamp // of all files; nil if they were not looked at
	jobs    []job
	ranges  []index.Range
	sorted  bool // in the order of the mode; else Names are put in order at the end
	news    bool // there are files of which a record could be made
}

// plan chooses the files of a query.
func (t *Tree) plan(ctx context.Context, q *Query, a *Answer) (*plan, error) {
	t.mu.RLock()
	ready := t.ready
	t.mu.RUnlock()
	// Looking at every stamp pays if few files are left to be read.
	look := ready && !t.plain.Load() && (q.Match.Filter() != nil || q.Mode == Names && q.page() > 0)
	l, stamps, err := t.look(ctx, look)
	if err != nil {
		return nil, err
	}
	p := &plan{listing: l, sorted: q.Mode != Names}
	a.Listed, a.Unreadable = l.Files, l.Unreadable
	a.Ignored = t.above.leftOut()
	if !look || t.plain.Load() {
		p.news = !ready
		return p, p.all(ctx, q, a)
	}
	p.stamps = stamps
	if err := t.filter(ctx, q, p, a); err != nil {
		return nil, err
	}
	if q.Mode == Names {
		p.newestFirst()
	}
	return p, nil
}

// look gives the listing and, if they are wanted, the stamps of all its files.
func (t *Tree) look(ctx context.Context, all bool) (*walk.Listing, []walk.Stamp, error) {
	if !all {
		l, err := t.list.Refresh(ctx)
		return l, nil, err
	}
	if t.s.options.Watch {
		l, err := t.list.Refresh(ctx)
		if err != nil {
			return nil, nil, err
		}
		stamps, err := t.list.Stamps(ctx, l)
		return l, stamps, err
	}
	spare, _ := t.spare.Get().(*[]walk.Stamp)
	if spare == nil {
		spare = new([]walk.Stamp)
	}
	return t.list.RefreshStat(ctx, *spare)
}

// done takes back what a plan needs no longer.
func (t *Tree) done(p *plan) {
	if p != nil && p.stamps != nil && !t.s.options.Watch { // a watcher's are shared
		spare := p.stamps
		p.stamps = nil
		t.spare.Put(&spare)
	}
}

// all takes every file.
func (p *plan) all(ctx context.Context, q *Query, a *Answer) error {
	p.jobs = make([]job, 0, p.listing.Files)
	rest := false // of the files are all picked
	for i, d := range p.listing.Dirs {
		path := d.Path()
		a.Left += d.Ignored
		rest = rest || q.rest()
		for j := range d.Files {
			if j%stride == 0 && ctx.Err() != nil { // a glob may be slow to match
				return ctx.Err()
			}
			if rest || q.Pick(path, d.Files[j].Name) {
				p.jobs = append(p.jobs, job{dir: int32(i), file: int32(j)})
			}
		}
	}
	a.Picked = len(p.jobs)
	return nil
}

// filter takes the files that can match, by what is known of those that are in
// the state that is known.
func (t *Tree) filter(ctx context.Context, q *Query, p *plan, a *Answer) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	l := p.listing
	picked, err := choose(ctx, q, l)
	if err != nil {
		return err
	}
	workers := t.s.workers
	if l.Files < fewFiles {
		workers = 1
	}
	parts, counts := make([]plan, workers), make([]Answer, workers)
	from := 0
	var wait sync.WaitGroup
	for w := range workers {
		parts[w] = plan{listing: l, stamps: p.stamps}
		to := len(l.Dirs)
		if w < workers-1 {
			to, _ = slices.BinarySearch(l.First, l.Files*(w+1)/workers)
		}
		to = max(from, to)
		start := from
		from = to
		do := func() { t.filterDirs(ctx, q, &parts[w], &counts[w], picked, start, to) }
		if w == workers-1 {
			do() // who waits may as well work
			break
		}
		wait.Go(do)
	}
	wait.Wait()
	for w, part := range parts {
		at := int32(len(p.ranges))
		for _, j := range part.jobs {
			j.from, j.to = j.from+at, j.to+at
			p.jobs = append(p.jobs, j)
		}
		p.ranges, p.news = append(p.ranges, part.ranges...), p.news || part.news
		a.Left, a.Picked = a.Left+counts[w].Left, a.Picked+counts[w].Picked
	}
	return ctx.Err()
}

// choose asks Query.Pick about every file, which need not be safe for concurrent
// use: the answers are by the files' numbers. Nil: all are chosen.
func choose(ctx context.Context, q *Query, l *walk.Listing) ([]bool, error) {
	if q.Pick == nil {
		return nil, nil
	}
	picked := make([]bool, l.Files)
	for i, d := range l.Dirs {
		if q.rest() {
			for j := l.First[i]; j < l.Files; j++ {
				picked[j] = true
			}
			break
		}
		path := d.Path()
		for j := range d.Files {
			if j%stride == 0 && ctx.Err() != nil { // a glob may be slow to match
				return nil, ctx.Err()
			}
			picked[l.First[i]+j] = q.Pick(path, d.Files[j].Name)
		}
	}
	return picked, nil
}

// filterDirs does some of the folders.
func (t *Tree) filterDirs(ctx context.Context, q *Query, p *plan, a *Answer, picked []bool, from, to int) {
	filter := t.store.Filter(q.Match.Filter())
	for i := from; i < to; i++ {
		d, first := p.listing.Dirs[i], p.listing.First[i]
		a.Left += d.Ignored
		for j := range d.Files {
			if j%stride == 0 && ctx.Err() != nil {
				return
			}
			if picked != nil && !picked[first+j] {
				continue
			}
			a.Picked++
			from, id, stamp := len(p.ranges), d.Files[j].ID, p.stamps[first+j]
			if ok, k := t.possible(q, filter, p, id, stamp); ok {
				to, mark := len(p.ranges), int8(0)
				if to > from {
					mark = int8(stamp.Size - filter.TextSize(uint32(id)))
				}
				p.jobs = append(p.jobs, job{int32(i), int32(j), int32(from), int32(to), k, mark})
			}
		}
	}
}

// possible reports whether a file can have something to tell, and adds the
// ranges of it that can; it adds none if all of it must be read. A file without
// a stamp is for the search to find gone or unreadable. The kind is unknown if
// the file is not in the state that is known.
func (t *Tree) possible(q *Query, f *index.Filter, p *plan, id uint64, s walk.Stamp) (bool, kind) {
	r, ok := t.knows(id, s)
	if !ok {
		p.news = p.news || s.Dev == t.device.Load() && t.settled(s)
		return true, unknown
	}
	switch {
	case r.kind == binary && q.Mode != Lines:
		return false, r.kind
	case r.kind == unsigned:
		return true, r.kind
	case q.Match.Spanning():
		return f.File(uint32(id)), r.kind
	}
	from := len(p.ranges)
	ranges, some := f.AppendRanges(p.ranges, uint32(id))
	if q.Before+q.After > 0 { // lines around a match may lie elsewhere
		ranges = ranges[:from]
	}
	p.ranges = ranges
	return some, r.kind
}

// newestFirst puts the jobs in the order of Names.
func (p *plan) newestFirst() {
	ranks := p.listing.Ranks()
	order := make([]position, len(p.jobs))
	for i, j := range p.jobs {
		order[i] = position{p.stamp(j).Mtime, ranks[p.number(j)], int32(i)}
	}
	slices.SortFunc(order, position.compare)
	jobs := make([]job, len(order))
	for i, o := range order {
		jobs[i] = p.jobs[o.at]
	}
	p.jobs, p.sorted = jobs, true
}

// position is where a file stands among others, the newest first, ties by path.
type position struct {
	mtime int64
	rank  int32 // see walk.Listing.Ranks
	at    int32 // where it stood
}

func (a position) compare(b position) int {
	if c := cmp.Compare(b.mtime, a.mtime); c != 0 {
		return c
	}
	return cmp.Compare(a.rank, b.rank)
}

// number is that of a job's file when all are counted in order.
func (p *plan) number(j job) int { return p.listing.First[j.dir] + int(j.file) }

// stamp is that of a job's file, if they were looked at.
func (p *plan) stamp(j job) walk.Stamp { return p.stamps[p.number(j)] }

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
