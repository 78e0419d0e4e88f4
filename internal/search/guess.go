package search

import (
	"context"

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
	look []bool
	// over is the folders of which no file that is picked can match: each was looked
	// at, and is as it is known.
	over []bool
}

// guess begins the guess for the last listing, if that is still the next.
func (t *Tree) guess(ctx context.Context, q *Query) (guess, error) {
	g := guess{t: t, q: q}
	l := t.last.Load()
	if l == nil {
		return g, nil
	}
	var err error
	if g.picked, err = choose(ctx, q, l); err != nil {
		return g, err
	}
	if g.listing = l; q.Mode == Names && q.page() > 0 { // its order is that of the stamps
		return g, nil
	}
	g.look, g.over = make([]bool, l.Files), make([]bool, len(l.Dirs))
	return g, nil
}

// looker makes a looker. All of them are called while the walk is held.
func (g *guess) looker(ctx context.Context) walk.Looker {
	g.t.mu.RLock()
	defer g.t.mu.RUnlock()
	l := &looker{guess: g, ctx: ctx, version: g.t.version, device: g.t.device.Load()}
	if g.look != nil {
		l.filter = g.t.store.Filter(g.q.Match.Filter())
	}
	return l
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

// Seen finds whether the folder is over.
func (l *looker) Seen(folder int, stamps []walk.Stamp) {
	if l.look == nil {
		return
	}
	l.t.mu.RLock()
	defer l.t.mu.RUnlock()
	if l.version != l.t.version {
		return
	}
	first := l.listing.First[folder]
	for j, f := range l.listing.Dirs[folder].Files {
		picked := l.picked == nil || l.picked[first+j]
		if picked && !l.t.record(f.ID).of(stamps[j], l.device) { // or not looked at
			return
		}
	}
	l.over[folder] = true
}
