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
	listing *walk.Listing // it is made for; nil: there is none
	picked  []bool        // see choose
	// look is the files to be looked at before any is read: those that cannot match if
	// they are as they are known, and those that are not known. Nil: all.
	look    []bool
	version uint64 // of the tree that this is of; 0: look is picked
}

// guess makes the guess for the last listing, if that is still the next.
func (t *Tree) guess(ctx context.Context, q *Query) (g guess, err error) {
	l := t.last.Load()
	if l == nil {
		return g, nil
	}
	if g.picked, err = choose(ctx, q, l); err != nil {
		return g, err
	}
	g.listing, g.look = l, g.picked
	if q.Mode == Names && q.page() > 0 { // its order is that of the stamps
		return g, nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	g.look, g.version = make([]bool, l.Files), t.version
	t.split(l, func(_, from, to int) { t.exclude(ctx, q, &g, from, to) })
	return g, ctx.Err()
}

// exclude sets guess.look for some of the folders.
func (t *Tree) exclude(ctx context.Context, q *Query, g *guess, from, to int) {
	filter := t.store.Filter(q.Match.Filter())
	var ranges []index.Range
	for i := from; i < to; i++ {
		first := g.listing.First[i]
		for j, f := range g.listing.Dirs[i].Files {
			if j%stride == 0 && ctx.Err() != nil {
				return
			}
			if g.picked != nil && !g.picked[first+j] {
				continue
			}
			k, possible := t.record(f.ID).kind, false
			if k != unknown {
				ranges, possible = q.possible(filter, ranges[:0], f.ID, k)
			}
			g.look[first+j] = !possible
		}
	}
}
