package search

import (
	"context"

	"mcp-toolset/internal/search/index"
	"mcp-toolset/internal/search/walk"
)

// A guess is which files can match, by what is known before any is looked at. Those
// are opened anyway, and looked at when they are read. So each file is looked at
// once.
type guess struct {
	t   *Tree
	ctx context.Context
	q   *Query

	listing *walk.Listing // it is made for; nil: there is none
	picked  []bool        // see choose
	// excluded are files that cannot match, if they are as they are known; nil: only
	// picked is known. Some of them are not known.
	excluded []bool
	version  uint64 // of the tree that these are of
}

// want makes the guess for a listing, and tells which of its files are to be looked
// at before any is read: see [walk.Tree.RefreshStat].
func (g *guess) want(l *walk.Listing) []bool {
	picked, err := choose(g.ctx, g.q, l)
	if err != nil {
		return nil
	}
	g.listing, g.picked = l, picked
	g.t.mu.RLock()
	defer g.t.mu.RUnlock()
	if g.q.Mode == Names && g.q.page() > 0 { // its order is that of the stamps
		return picked
	}
	g.excluded, g.version = make([]bool, l.Files), g.t.version
	g.t.split(l, func(_, from, to int) { g.folders(from, to) })
	return g.excluded
}

// folders does some of the folders.
func (g *guess) folders(from, to int) {
	filter := g.t.store.Filter(g.q.Match.Filter())
	var ranges []index.Range
	for i := from; i < to; i++ {
		first := g.listing.First[i]
		for j, f := range g.listing.Dirs[i].Files {
			if g.picked != nil && !g.picked[first+j] {
				continue
			}
			k, possible := g.t.record(f.ID).kind, false
			if k != unknown {
				ranges, possible = g.q.possible(filter, ranges[:0], f.ID, k)
			}
			g.excluded[first+j] = !possible
		}
	}
}
