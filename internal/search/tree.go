package search

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcp-toolset/internal/search/index"
	"mcp-toolset/internal/search/walk"
)

// racy is how old the stamp of a file must be when the file is read for a later
// change to be sure to give it another one: see package walk.
const racy = 2 * time.Second

// Tree is a folder and all below it, with what is known of it. It is safe for
// concurrent use.
type Tree struct {
	s     *Searcher
	top   string
	list  *walk.Tree
	above *above

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
	o.Above = t.above.look
	t.list = walk.New(func() (*os.File, error) {
		f, err := open()
		if err == nil {
			ok, dev := trusted(f)
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
	binary   bool // the file is known to be binary
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
	l, err := t.list.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	p := &plan{listing: l, sorted: q.Mode != Names}
	a.Listed, a.Unreadable = l.Files, l.Unreadable
	t.mu.RLock()
	ready := t.ready
	t.mu.RUnlock()
	a.Ignored = t.above.leftOut()
	// Looking at every stamp pays if few files are left to be read.
	if !ready || t.plain.Load() || q.Match.Filter() == nil && (q.Mode != Names || q.page() == 0) {
		p.all(q, a)
		p.news = !ready
		return p, nil
	}
	if p.stamps, err = t.list.Stamps(ctx, l); err != nil {
		return nil, err
	}
	t.filter(q, p, a)
	if q.Mode == Names {
		p.newestFirst()
	}
	return p, nil
}

// all takes every file.
func (p *plan) all(q *Query, a *Answer) {
	p.jobs = make([]job, 0, p.listing.Files)
	for i, d := range p.listing.Dirs {
		path := d.Path()
		a.Left += left(d)
		for j := range d.Files {
			if q.Pick == nil || q.Pick(path, d.Files[j].Name) {
				p.jobs = append(p.jobs, job{dir: int32(i), file: int32(j)})
			}
		}
	}
	a.Picked = len(p.jobs)
}

// filter takes the files that can match, by what is known of those that are in
// the state that is known.
func (t *Tree) filter(q *Query, p *plan, a *Answer) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for i, d := range p.listing.Dirs {
		path := d.Path()
		a.Left += left(d)
		for j := range d.Files {
			if q.Pick != nil && !q.Pick(path, d.Files[j].Name) {
				continue
			}
			a.Picked++
			from := len(p.ranges)
			if ok, bin := t.possible(q, p, d.Files[j].ID, p.stamps[p.listing.First[i]+j]); ok {
				p.jobs = append(p.jobs, job{int32(i), int32(j), int32(from), int32(len(p.ranges)), bin})
			}
		}
	}
}

// possible reports whether a file can have something to tell, and adds the
// ranges of it that can; it adds none if all of it must be read. A file without
// a stamp is for the search to find gone or unreadable. bin says that it is known
// to be binary.
func (t *Tree) possible(q *Query, p *plan, id uint64, s walk.Stamp) (ok, bin bool) {
	r, ok := t.knows(id, s)
	if !ok {
		p.news = p.news || s.Dev == t.device.Load() && t.settled(s)
		return true, false
	}
	bin = r.kind == binary
	ask, sig := q.Match.Filter(), t.store.Get(uint32(id))
	switch {
	case bin && q.Mode != Lines:
		return false, bin
	case r.kind == unsigned || ask == nil || sig == nil:
		return true, bin
	case q.Match.Spanning():
		return ask.File(sig), bin
	}
	from := len(p.ranges)
	p.ranges = ask.AppendRanges(p.ranges, sig)
	found := p.ranges[from:]
	if len(found) == 0 {
		return false, bin
	}
	// Lines around a match may lie elsewhere.
	if q.Before+q.After > 0 || found[0].Start == 0 && found[0].End >= sig.TextSize() {
		p.ranges = p.ranges[:from]
	}
	return true, bin
}

// left counts what is ignored in a folder.
func left(d *walk.Dir) (n int) {
	for _, l := range d.Left {
		if l.Reason == walk.Ignored {
			n++
		}
	}
	return n + d.LeftMore
}

// newestFirst puts the jobs in the order of Names.
func (p *plan) newestFirst() {
	slices.SortFunc(p.jobs, func(a, b job) int {
		if c := cmp.Compare(p.stamp(b).Mtime, p.stamp(a).Mtime); c != 0 {
			return c
		}
		return strings.Compare(p.path(a), p.path(b))
	})
	p.sorted = true
}

// stamp is that of a job's file, if they were looked at.
func (p *plan) stamp(j job) walk.Stamp { return p.stamps[p.listing.First[j.dir]+int(j.file)] }

// path is that of a job's file, below the top.
func (p *plan) path(j job) string {
	d := p.listing.Dirs[j.dir]
	return join(d.Path(), d.Files[j.file].Name)
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
