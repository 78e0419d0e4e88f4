package search

import (
	"context"
	"slices"
	"sync"

	"mcp-toolset/internal/search/index"
	"mcp-toolset/internal/search/walk"
)

// A guess is which files can match, by what is known before they are looked at.
// Those are opened anyway, and looked at when they are read. So each file is looked
// at once. It is made folder by folder, by a looker for each worker, on the way of
// looking at the others: all that it takes is at hand then.
type guess struct {
	t       *Tree
	q       *Query
	listing *walk.Listing // it is made for; nil: there is none
	picked  []bool        // see choose

	// look is the files to be looked at before any is read: those that cannot match if
	// they are as they are known, and those that are not known. Nil: all that are picked.
	// Of a folder that was seen it is those that cannot match: they are as they are known.
	look []bool
	// left is how many of a folder's files are picked and can match, or are not as they
	// are known; unseen: that was not found.
	left []int32

	mu      sync.Mutex
	filter  *index.Filter // for the records of version; nil: there is none yet
	version uint64
}

const unseen = -1

// begin makes the guess one for the last listing, if that is still the next.
func (g *guess) begin(ctx context.Context) (err error) {
	l := g.t.last.Load()
	if l == nil {
		return nil
	}
	if g.picked, err = choose(ctx, g.q, l); err != nil {
		return err
	}
	if g.listing = l; g.q.Mode == Names && g.q.page() > 0 { // its order is that of the stamps
		return nil
	}
	g.look, g.left = make([]bool, l.Files), slices.Repeat([]int32{unseen}, len(l.Dirs))
	return nil
}

// asks gives the filter for the records that there are now, with what it was asked
// already, and their version; t.mu is held.
func (g *guess) asks() (*index.Filter, uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.filter == nil || g.version != g.t.version {
		g.filter, g.version = g.t.store.Filter(g.q.Match.Filter()), g.t.version
	}
	return g.filter, g.version
}

// looker makes a looker. All of them are called while the walk is held.
func (g *guess) looker(ctx context.Context) walk.Looker {
	g.t.mu.RLock()
	defer g.t.mu.RUnlock()
	l := &looker{guess: g, ctx: ctx, device: g.t.device.Load()}
	l.filter, l.version = g.asks()
	return l
}

// files is how many files are left of all folders.
func (g *guess) files() (n int) {
	for i, left := range g.left {
		if left == unseen {
			left = int32(len(g.listing.Dirs[i].Files))
		}
		n += int(left)
	}
	return n
}

// A looker makes the guess for some of the folders. It is for one goroutine.
type looker struct {
	*guess
	ctx     context.Context
	version uint64 // of the tree that it goes by: once records are made anew, it knows nothing
	device  uint64
	filter  *index.Filter
	ranges  []index.Range
}

// Want is the files picked, without those that can match.
func (l *looker) Want(folder int) []bool {
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

// Seen finds which of the files cannot match.
func (l *looker) Seen(folder int, stamps []walk.Stamp) {
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
