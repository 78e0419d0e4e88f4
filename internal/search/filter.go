package search

import (
	"context"
	"slices"
	"sync"

	"mcp-toolset/internal/search/index"
	"mcp-toolset/internal/search/walk"
)

// filter adds the files that can match to the plan. It consults the record of a file
// only if the record is of the file's current state. A file that the guess considers a
// candidate has no stamp: its state is checked when it is read.
func (t *Tree) filter(ctx context.Context, q *Query, p *plan, a *Answer, g *prefilter) error {
	picked := g.picked
	if g.listing != p.listing {
		var err error
		if picked, err = choose(ctx, q, p.listing); err != nil {
			return err
		}
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	all := planFilter{t: t, q: q, picked: picked, guessed: g.listing != nil, device: t.device.Load()}
	all.filter, _ = g.asks()
	if t.s.options.Watch {
		all.recall = t.recalls(p)
	}
	files := p.listing.Files
	if g.listing == p.listing && g.left != nil {
		all.prefilter = g
		files = g.files()
	}
	parts := make([]planFilter, t.s.workers)
	t.split(p.listing, files, func(w, from, to int) {
		parts[w] = all
		parts[w].p = plan{listing: p.listing, stamps: p.stamps}
		parts[w].folders(ctx, from, to)
	})
	for _, s := range parts {
		at := int32(len(p.ranges))
		for _, j := range s.p.jobs {
			j.from, j.to = j.from+at, j.to+at
			p.jobs = append(p.jobs, j)
		}
		p.ranges, p.hasNew = append(p.ranges, s.p.ranges...), p.hasNew || s.p.hasNew
		a.IgnoredCount, a.Picked = a.IgnoredCount+s.ignoredCount, a.Picked+s.files
	}
	return ctx.Err()
}

// split distributes the folders of a listing over workers, in consecutive runs. files
// is the number of files to handle.
func (t *Tree) split(l *walk.Listing, files int, do func(worker, from, to int)) {
	workers := t.s.workers
	if files < fewFiles {
		workers = 1
	}
	var wait sync.WaitGroup
	from := 0
	for w := range workers {
		start, to := from, len(l.Dirs)
		if w == workers-1 {
			do(w, start, to) // this goroutine would only wait
			break
		}
		to, _ = slices.BinarySearch(l.First, l.Files*(w+1)/workers)
		from = max(from, to)
		wait.Go(func() { do(w, start, max(start, to)) })
	}
	wait.Wait()
}

// choose calls Query.Pick for every file and returns the results by number of the file.
// Pick need not be safe for concurrent use. nil means that all are chosen.
func choose(ctx context.Context, q *Query, l *walk.Listing) ([]bool, error) {
	if q.Pick == nil {
		return nil, nil
	}
	defer q.lock()()
	if ctx.Err() != nil {
		return nil, ctx.Err()
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

// planFilter filters some folders of a plan.
type planFilter struct {
	t         *Tree
	q         *Query
	picked    []bool     // see choose
	guessed   bool       // whether a file without a stamp may be one that was not looked at
	prefilter *prefilter // for the same listing, with its results; nil if there is none
	filter    *index.Filter
	recall    *recall // for the same listing; nil if there is none
	device    uint64

	p                   plan // of these folders
	files, ignoredCount int  // Answer.Picked and Answer.Left of these folders
}

func (s *planFilter) folders(ctx context.Context, from, to int) {
	if s.recall != nil {
		s.fromRecall(ctx, from, to)
		return
	}
	for i := from; i < to; i++ {
		d, first := s.p.listing.Dirs[i], s.p.listing.First[i]
		s.ignoredCount += d.Ignored
		var done []bool // the files that cannot match; later records do not change that
		if s.prefilter != nil && s.prefilter.left[i] != unseen {
			done = s.prefilter.look[first:][:len(d.Files)]
		}
		for j := range d.Files {
			if j%stride == 0 && ctx.Err() != nil {
				return
			}
			if s.picked == nil || s.picked[first+j] {
				s.files++
				if done == nil || !done[j] {
					s.file(job{dir: int32(i), file: int32(j)}, first+j, d.Files[j].ID)
				}
			}
		}
	}
}

// file adds a job for file number n, if it can match.
func (s *planFilter) file(j job, n int, id uint64) {
	r, stamp := s.t.record(id), &s.p.stamps[n]
	switch known := r.of(*stamp, s.device); {
	case known:
		if !s.possible(&j, r.kind, id) {
			return
		}
	case s.guessed && r.kind != unknown && *stamp == (walk.Stamp{}):
		if s.possible(&j, r.kind, id) {
			*stamp = r.stamp(s.device)
		}
	default:
		s.p.hasNew = s.p.hasNew || s.t.recordable(*stamp)
	}
	s.p.jobs = append(s.p.jobs, j)
}

// possible reports whether a file can match, given that it is in the state of its
// record. If it can, possible sets in j what must be read.
func (s *planFilter) possible(j *job, k kind, id uint64) bool {
	from := len(s.p.ranges)
	ranges, ok := s.q.possible(s.filter, s.p.ranges, id, k)
	if !ok {
		return false
	}
	j.known = k
	if s.p.ranges = ranges; len(ranges) > from {
		j.from, j.to = int32(from), int32(len(ranges))
		j.mark = int8(s.t.record(id).size - s.filter.TextSize(uint32(id)))
	}
	return true
}

// possible reports whether a file of a kind, in the state of its record, can yield a
// result. It appends the ranges that can match to dst; none means that the whole file
// must be read.
func (q *Query) possible(f *index.Filter, dst []index.Range, id uint64, k kind) ([]index.Range, bool) {
	switch {
	case k == binary && q.Mode != Lines:
		return dst, false
	case k == unsigned:
		return dst, true
	case q.Match.Spanning():
		return dst, f.File(uint32(id))
	}
	ranges, some := f.AppendRanges(dst, uint32(id))
	if q.Before+q.After > 0 { // lines around a match may lie outside of the ranges
		ranges = dst
	}
	return ranges, some
}
