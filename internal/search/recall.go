package search

import (
	"context"
	"weak"

	"mcp-toolset/internal/search/walk"
)

// recall is the cached result of comparing the files of a listing with their records.
// While a watcher vouches for the tree, most searches find the listing, stamps and
// records of the search before. Comparing again would mostly wait for memory.
type recall struct {
	of           compared
	ignoredCount int // number of ignored files and folders

	// By file: its ID and its recorded kind. unknown means that there is no record of
	// its current state. nil until a second search needs them.
	ids   []uint64
	kinds []kind
}

// recallSize is the memory of a recall per file, in bytes.
const recallSize = 9

// compared identifies the state that a recall is valid for.
type compared struct {
	listing *walk.Listing
	stamps  weak.Pointer[walk.Stamp] // the first of a slice that never changes: see walk.Tree.Stamps
	version uint64                   // of the tree
	device  uint64
}

// recalls returns the recall for a plan, if an earlier plan was in the same state, and
// nil otherwise. t.mu must be held.
func (t *Tree) recalls(p *plan) *recall {
	if len(p.stamps) == 0 {
		return nil
	}
	of := compared{p.listing, weak.Make(&p.stamps[0]), t.version, t.device.Load()}
	last := t.recall.Load()
	if last == nil || last.of != of {
		t.recall.Store(&recall{of: of})
		return nil
	}
	if last.kinds != nil {
		return last
	}
	r := &recall{of: of, ids: make([]uint64, len(p.stamps)), kinds: make([]kind, len(p.stamps))}
	n := 0
	for _, d := range p.listing.Dirs {
		r.ignoredCount += d.Ignored
		for _, f := range d.Files {
			r.ids[n] = f.ID
			if known := t.record(f.ID); known.of(p.stamps[n], of.device) {
				r.kinds[n] = known.kind
			}
			n++
		}
	}
	t.recall.Store(r)
	return r
}

// fromRecall filters folders by the recall.
func (s *planFilter) fromRecall(ctx context.Context, from, to int) {
	if from == to {
		return
	}
	l := s.p.listing
	end := l.Files
	if to < len(l.First) {
		end = l.First[to]
	}
	if from == 0 {
		s.ignoredCount += s.recall.ignoredCount
	}
	dir := from
	for n := l.First[from]; n < end; n++ {
		if n%stride == 0 && ctx.Err() != nil {
			return
		}
		if s.picked != nil && !s.picked[n] {
			continue
		}
		s.files++
		var j job
		if k := s.recall.kinds[n]; k == unknown {
			s.p.hasNew = s.p.hasNew || s.t.recordable(s.p.stamps[n])
		} else if !s.possible(&j, k, s.recall.ids[n]) {
			continue
		}
		for dir+1 < len(l.First) && l.First[dir+1] <= n {
			dir++
		}
		j.dir, j.file = int32(dir), int32(n-l.First[dir])
		s.p.jobs = append(s.p.jobs, j)
	}
}
