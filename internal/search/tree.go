package search

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/search/index"
	"mcp-toolset/internal/search/walk"
)

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
	open  walk.Opener
	list  *walk.Tree
	above *above
	last  atomic.Pointer[walk.Listing] // that of the last search
	spare sync.Pool                    // of *[]walk.Stamp

	recall atomic.Pointer[recall] // the last; nil: there was none yet

	plain  atomic.Bool   // the file system does not tell of every change: nothing is kept
	device atomic.Uint64 // of the top; of files on others nothing is kept

	mu       sync.RWMutex
	records  []record // by walk.File.ID
	store    index.Store
	version  uint64 // how often a record changed, and the store with it
	held     int64  // memory of both, in bytes
	ready    bool   // there are records
	building bool
	built    *walk.Listing // of the last time that records were made
	gone     bool          // forgotten by the Searcher

	lost context.Context // ends when the tree waits for a file system that does not answer
	lose context.CancelCauseFunc

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
	t := &Tree{s: s, top: top, open: open}
	t.lost, t.lose = context.WithCancelCause(context.Background())
	o := walk.Options{Workers: s.workers, Watch: s.options.Watch, Racy: s.racy}
	t.above = &above{top: top, home: s.options.Home, getenv: s.options.Getenv}
	o.Above, o.Exclude = t.above.look, t.above.exclude
	o.Silent = func(dir string) bool {
		return s.silent.some.Load() > 0 && s.silent.has(filepath.Join(top, filepath.FromSlash(dir)))
	}
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

// stamp is that of the state of a record on a device; that does not tell the links.
func (r record) stamp(device uint64) walk.Stamp {
	return walk.Stamp{Dev: device, Ino: r.ino, Size: r.size, Mtime: r.mtime, Ctime: r.ctime}
}

// of reports whether the record is of the state stamped.
func (r record) of(s walk.Stamp, device uint64) bool {
	return r.kind != unknown && s.Dev == device && r == recordOf(s, r.kind)
}

// record is what is known of a file; t.mu is held.
func (t *Tree) record(id uint64) record {
	if id >= uint64(len(t.records)) {
		return record{}
	}
	return t.records[id]
}

// knows reports whether there is a record of the state stamped; t.mu is held.
func (t *Tree) knows(id uint64, s walk.Stamp) bool {
	return t.record(id).of(s, t.device.Load())
}

// recordable reports whether a record could be made of the state stamped.
func (t *Tree) recordable(s walk.Stamp) bool { return s.Dev == t.device.Load() && t.settled(s) }

// job is a file to be searched.
type job struct {
	dir  int32
	file int32
	// ranges from..to of plan.ranges are what can match; none: all of it.
	from, to int32
	known    kind // of the state of its stamp; unknown: that is not known
	mark     int8 // where there are ranges: the length of the byte order mark before the text
}

// plan is which files are searched, in the order of the answer.
type plan struct {
	listing *walk.Listing
	stamps  []walk.Stamp // by file; nil: none was looked at. Those of jobs may be the known ones
	jobs    []job
	ranges  []index.Range
	sorted  bool // in the order of the mode; else Names are put in order at the end
	news    bool // there are files of which a record could be made

	gathering *atomic.Pointer[gather] // where run stores its gather; may be nil
}

// plan chooses the files of a query.
func (t *Tree) plan(ctx context.Context, q *Query, a *Answer) (*plan, error) {
	t.mu.RLock()
	ready := t.ready
	t.mu.RUnlock()
	// Asking what is known pays if few files are left to be read.
	look := ready && !t.plain.Load() && (q.Match.Filter() != nil || q.Mode == Names && q.page() > 0)
	g := &guess{t: t, q: q}
	if look && !t.s.options.Watch { // a watcher's stamps are there already
		if err := g.begin(ctx); err != nil {
			return nil, err
		}
	}
	l, stamps, err := t.look(ctx, look, g)
	if err != nil {
		return nil, err
	}
	t.last.Store(l)
	all := !look || t.plain.Load()
	if g.listing != nil && (all || g.listing != l) && !q.anew(ctx) {
		return nil, ctx.Err()
	}
	p := &plan{listing: l, sorted: q.Mode != Names}
	a.Listed = l.Files
	a.Silent, a.Unreadable = q.leftOut(l)
	a.Ignored = t.above.leftOut()
	if all {
		p.news = !ready
		return p, p.all(ctx, q, a)
	}
	p.stamps = stamps
	if err := t.filter(ctx, q, p, a, g); err != nil {
		return nil, err
	}
	if q.Mode == Names && q.page() > 0 { // else when the files were read
		p.newestFirst()
	}
	return p, nil
}

// look gives the listing and, if stamps is set, those of its files that the guess
// needs.
func (t *Tree) look(ctx context.Context, stamps bool, g *guess) (*walk.Listing, []walk.Stamp, error) {
	if !stamps {
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
	return t.list.RefreshStat(ctx, *spare, g.listing, func() walk.Looker { return g.looker(ctx) })
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
	defer q.lock()()
	if ctx.Err() != nil {
		return ctx.Err()
	}
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

// bytes is how much of a job's file is read.
func (p *plan) bytes(j job) (n int64) {
	if j.from == j.to {
		return p.stamp(j).Size
	}
	for _, r := range p.ranges[j.from:j.to] {
		n += r.End - r.Start
	}
	return n
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
