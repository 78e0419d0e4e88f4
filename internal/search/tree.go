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
	// stride is the number of files handled between checks of the context.
	stride = 256
	// fewFiles is the number of files below which one worker is faster: about 100
	// microseconds of work.
	fewFiles = 1000
)

// Tree is a folder with all its descendants, and the cached state of its files. It is
// safe for concurrent use.
type Tree struct {
	s     *Searcher
	top   string
	open  walk.Opener
	list  *walk.Tree
	above *above
	last  atomic.Pointer[walk.Listing] // the listing of the last search
	spare sync.Pool                    // of *[]walk.Stamp

	recall atomic.Pointer[recall] // the last recall; nil before the first

	plain  atomic.Bool   // the file system does not report every change: nothing is recorded
	device atomic.Uint64 // of the top; files on other devices are not recorded

	mu       sync.RWMutex
	records  []record // by walk.File.ID
	store    index.Store
	version  uint64 // incremented with every change of records and store
	held     int64  // memory of both, in bytes
	ready    bool   // whether records were made
	building bool
	built    *walk.Listing // the listing for which records were made last
	dropped  bool          // whether the Searcher dropped the tree

	blocked    context.Context // ends when the tree waits for a file system that does not answer
	setBlocked context.CancelCauseFunc

	watching    bool      // a watcher is being set up
	unwatchable bool      // no watcher is possible
	failed      time.Time // when setting up a watcher failed last
}

// record describes one state of a file. The zero record describes none.
type record struct {
	ino          uint64
	size         int64
	mtime, ctime int64
	kind         kind
}

// kind is the kind of a file's content when it was read.
type kind uint8

const (
	unknown  kind = iota
	signed        // a text with a signature
	unsigned      // a text without a signature: it is searched decoded, or too large
	binary        // contains a NUL; has a signature of its bytes, unless it is too large
)

// recordSize is the memory of a record, in bytes.
const recordSize = 40

func newTree(s *Searcher, top string, open walk.Opener) *Tree {
	t := &Tree{s: s, top: top, open: open}
	t.blocked, t.setBlocked = context.WithCancelCause(context.Background())
	o := walk.Options{Workers: s.workers, Watch: s.options.Watch, Racy: s.racy}
	t.above = &above{top: top, home: s.options.Home, getenv: s.options.Getenv}
	o.Above, o.Exclude = t.above.look, t.above.exclude
	o.Silent = func(dir string) bool {
		return s.silent.some.Load() > 0 && s.silent.has(filepath.Join(top, filepath.FromSlash(dir)))
	}
	t.list = walk.New(func() (*os.File, error) {
		f, err := open()
		if err == nil {
			ok, dev := walk.HasReliableStamps(f)
			t.device.Store(dev)
			t.plain.Store(!ok)
		}
		return f, err
	}, o)
	return t
}

// recordOf returns the record of a file in the state s.
func recordOf(s walk.Stamp, k kind) record {
	return record{ino: s.Ino, size: s.Size, mtime: s.Mtime, ctime: s.Ctime, kind: k}
}

// stamp returns the stamp of the recorded state on a device. A record has no number of
// links.
func (r record) stamp(device uint64) walk.Stamp {
	return walk.Stamp{Dev: device, Ino: r.ino, Size: r.size, Mtime: r.mtime, Ctime: r.ctime}
}

// of reports whether r is a record of the state s.
func (r record) of(s walk.Stamp, device uint64) bool {
	return r.kind != unknown && s.Dev == device && r == recordOf(s, r.kind)
}

// record returns the record of a file. t.mu must be held.
func (t *Tree) record(id uint64) record {
	if id >= uint64(len(t.records)) {
		return record{}
	}
	return t.records[id]
}

// hasRecord reports whether there is a record of the state s. t.mu must be held.
func (t *Tree) hasRecord(id uint64, s walk.Stamp) bool {
	return t.record(id).of(s, t.device.Load())
}

// recordable reports whether a record of the state s can be made.
func (t *Tree) recordable(s walk.Stamp) bool { return s.Dev == t.device.Load() && t.settled(s) }

// job is a file to be searched.
type job struct {
	dir  int32
	file int32
	// plan.ranges[from:to] can match; if empty, all of the file is read.
	from, to int32
	known    kind // recorded kind of the state of its stamp; unknown if there is no record
	mark     int8 // if there are ranges: the length of the byte order mark before the text
}

// plan lists the files to be searched, in the order of the answer.
type plan struct {
	listing *walk.Listing
	stamps  []walk.Stamp // by file; nil: none was looked at. Those of jobs may come from records
	jobs    []job
	ranges  []index.Range
	sorted  bool // in the order of the mode; otherwise Names are sorted at the end
	hasNew  bool // there are files that could be recorded

	gathering *atomic.Pointer[gather] // where run stores its gather; may be nil
}

// plan chooses the files of a query.
func (t *Tree) plan(ctx context.Context, q *Query, a *Answer) (*plan, error) {
	t.mu.RLock()
	ready := t.ready
	t.mu.RUnlock()
	// The records are of use if they leave few files to be read.
	look := ready && !t.plain.Load() && (q.Match.Filter() != nil || q.Mode == Names && q.page() > 0)
	g := &prefilter{t: t, q: q}
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
	a.Silent, a.Unreadable = q.unreadableFolders(l)
	a.Ignored = t.above.ignoredFolder()
	if all {
		p.hasNew = !ready
		return p, p.all(ctx, q, a)
	}
	p.stamps = stamps
	if err := t.filter(ctx, q, p, a, g); err != nil {
		return nil, err
	}
	if q.Mode == Names && q.page() > 0 { // otherwise after the files are read
		p.newestFirst()
	}
	return p, nil
}

// look returns the listing and, if stamps is set, the stamps that the guess needs.
func (t *Tree) look(ctx context.Context, stamps bool, g *prefilter) (*walk.Listing, []walk.Stamp, error) {
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
	return t.list.RefreshStat(ctx, *spare, g.listing, func() walk.StatChooser { return g.newWorker(ctx) })
}

// done recycles what a plan does not need any more.
func (t *Tree) done(p *plan) {
	if p != nil && p.stamps != nil && !t.s.options.Watch { // a watcher's are shared
		spare := p.stamps
		p.stamps = nil
		t.spare.Put(&spare)
	}
}

// all adds every file.
func (p *plan) all(ctx context.Context, q *Query, a *Answer) error {
	defer q.lock()()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.jobs = make([]job, 0, p.listing.Files)
	rest := false // whether all remaining files are picked
	for i, d := range p.listing.Dirs {
		path := d.Path()
		a.IgnoredCount += d.Ignored
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

// newestFirst sorts the jobs in the order of Names.
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

// position is the place of a file in the order of Names: the newest first, ties by
// path.
type position struct {
	mtime int64
	rank  int32 // see walk.Listing.Ranks
	at    int32 // index before sorting
}

func (a position) compare(b position) int {
	if c := cmp.Compare(b.mtime, a.mtime); c != 0 {
		return c
	}
	return cmp.Compare(a.rank, b.rank)
}

// number returns the number of a job's file in the listing.
func (p *plan) number(j job) int { return p.listing.First[j.dir] + int(j.file) }

// stamp returns the stamp of a job's file. The plan must have stamps.
func (p *plan) stamp(j job) walk.Stamp { return p.stamps[p.number(j)] }

// bytes returns the number of bytes to read of a job's file.
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
