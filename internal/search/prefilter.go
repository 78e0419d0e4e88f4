package search

import (
	"context"
	"slices"
	"sync"

	"mcp-toolset/internal/search/index"
	"mcp-toolset/internal/search/walk"
)

// prefilter excludes files by their records, before the files are looked at. Files that
// can match are opened anyway, and looked at when they are read, so each file is looked
// at only once. Each worker has a prefilterWorker, which excludes files folder by folder
// while it looks at the others: the data it needs is already loaded then.
type prefilter struct {
	t       *Tree
	q       *Query
	listing *walk.Listing // what the prefilter is made for; nil if there is none
	picked  []bool        // see choose

	// look marks the files to be looked at before any is read: those that cannot match
	// if they are in their recorded state, and those without a record. nil means all
	// that are picked. In a folder that was seen it marks the files that cannot match:
	// they are in their recorded state.
	look []bool
	// left is, by folder, the number of picked files that can match or are not in their
	// recorded state, or unseen if that is unknown.
	left []int32

	mu      sync.Mutex
	filter  *index.Filter // for the records of version; nil: not made yet
	version uint64
}

const unseen = -1

// begin makes the guess for the last listing, which is used if the next one is the
// same.
func (g *prefilter) begin(ctx context.Context) (err error) {
	l := g.t.last.Load()
	if l == nil {
		return nil
	}
	if g.picked, err = choose(ctx, g.q, l); err != nil {
		return err
	}
	if g.listing = l; g.q.Mode == Names && g.q.page() > 0 { // needs all stamps for its order
		return nil
	}
	g.look, g.left = make([]bool, l.Files), slices.Repeat([]int32{unseen}, len(l.Dirs))
	return nil
}

// asks returns the filter for the current records, which caches its results, and their
// version. t.mu must be held.
func (g *prefilter) asks() (*index.Filter, uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.filter == nil || g.version != g.t.version {
		g.filter, g.version = g.t.store.Filter(g.q.Match.Filter()), g.t.version
	}
	return g.filter, g.version
}

// newWorker returns a new prefilterWorker. It is called while the walk is locked.
func (g *prefilter) newWorker(ctx context.Context) walk.StatChooser {
	g.t.mu.RLock()
	defer g.t.mu.RUnlock()
	l := &prefilterWorker{prefilter: g, ctx: ctx, device: g.t.device.Load()}
	l.filter, l.version = g.asks()
	return l
}

// files returns the number of files left in all folders.
func (g *prefilter) files() (n int) {
	for i, left := range g.left {
		if left == unseen {
			left = int32(len(g.listing.Dirs[i].Files))
		}
		n += int(left)
	}
	return n
}

// prefilterWorker makes the prefilter for some of the folders. It is for one goroutine.
type prefilterWorker struct {
	*prefilter
	ctx     context.Context
	version uint64 // of the tree when the worker was made; it is of no use with another one
	device  uint64
	filter  *index.Filter
	ranges  []index.Range
}

// Choose returns the picked files except those that can match.
func (l *prefilterWorker) Choose(folder int) []bool {
	first, files := l.listing.First[folder], l.listing.Dirs[folder].Files
	if l.look == nil {
		if l.picked == nil {
			return nil
		}
		return l.picked[first:][:len(files)]
	}
	l.t.mu.RLock()
	defer l.t.mu.RUnlock()
	if l.version != l.t.version {
		return nil
	}
	look := l.look[first:][:len(files)]
	for j, f := range files {
		if j%stride == 0 && l.ctx.Err() != nil {
			return nil
		}
		if l.picked != nil && !l.picked[first+j] {
			continue
		}
		k, possible := l.t.record(f.ID).kind, false
		if k != unknown {
			l.ranges, possible = l.q.possible(l.filter, l.ranges[:0], f.ID, k)
		}
		look[j] = !possible
	}
	return look
}

// Receive finds which of the files cannot match.
func (l *prefilterWorker) Receive(folder int, stamps []walk.Stamp) {
	if l.look == nil {
		return
	}
	l.t.mu.RLock()
	defer l.t.mu.RUnlock()
	if l.version != l.t.version {
		return
	}
	first, left := l.listing.First[folder], int32(0)
	for j, f := range l.listing.Dirs[folder].Files {
		done := &l.look[first+j]
		*done = *done && l.t.record(f.ID).of(stamps[j], l.device)
		if !*done && (l.picked == nil || l.picked[first+j]) {
			left++
		}
	}
	l.left[folder] = left
}
