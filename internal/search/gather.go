package search

import (
	"bytes"
	"cmp"
	"math"
	"sync"
	"sync/atomic"
)

const (
	// maxText is the limit of the text of an answer, in bytes: ten times the limit of
	// any client, for callers that ask for all lines.
	maxText = 64 << 20
	// countOn is the number of files that are still searched once a page is full, only
	// to count all entries: some milliseconds of work. If more are left, the answer
	// reports "more than".
	countOn = 500
	// countBytes is the limit of bytes read of these files, approximately.
	countBytes = 64 << 20
	// maxWaiting is the limit of results, in bytes, that wait for an earlier file that
	// takes long. Beyond it, workers wait too.
	maxWaiting = 4 << 20
)

// found is the result of one file.
type found struct {
	path    string
	hits    int     // matching lines
	shown   int     // the number of entries: 1 for a file, otherwise the lines shown
	text    []byte  // some of the lines shown, beginning with entry number base
	entries []entry // their positions in text
	base    int
	added   int   // entries that are already in the answer
	bytes   int64 // bytes read
	mtime   int64 // for Names that are sorted at the end
	failed  bool  // could not be read
	skipped bool  // does not count: no match, binary, or not to be shown
}

// entry is a line shown: the offsets of its beginning in a text, after the gap before
// it if there is one, and of its end.
type entry struct{ start, end int }

// size returns the approximate memory of a result, in bytes.
func (f *found) size() int {
	if f == noResult {
		return 0
	}
	return 128 + len(f.path) + cap(f.text) + 16*cap(f.entries)
}

// gather combines the results of files in their order. They may arrive in any order.
type gather struct {
	q     *Query
	total int // number of jobs

	mu      sync.Mutex
	waiting []*found   // by job: results that arrived before their turn; nil: not arrived. Unused if later
	held    int        // their size
	turn    *sync.Cond // of mu: next or stopped changed
	next    int        // the job whose turn it is
	answer  *Answer
	pieces  [][]byte    // of the text of the answer, unless it goes to Query.Out
	size    int         // of the text, in bytes
	names   []*found    // results to be sorted at the end
	later   bool        // whether Names arrive in any order
	full    bool        // whether the page is full
	past    int64       // bytes read since the page was full
	stale   bool        // a file was not in its recorded state, and a new record could be made
	late    bool        // stopped before the end: the answer is what was found so far
	done    bool        // the answer is complete or was returned as it was: nothing is added
	stopped atomic.Bool // no more jobs are started; set under mu
}

// noResult is the result of a file without matches.
var noResult = new(found)

func newGather(q *Query, jobs int, later bool, a *Answer) *gather {
	g := &gather{q: q, total: jobs, later: later, answer: a}
	if !later {
		g.waiting = make([]*found, jobs)
	}
	g.turn = sync.NewCond(&g.mu)
	return g
}

// deliver takes the results of consecutive jobs, from included and to excluded. Only the last
// one may have a result, f; nil means that it has none either.
func (g *gather) deliver(from, to int, f *found) {
	if from >= to { // all were put, or the batch begins after the last job
		return
	}
	if f == nil {
		f = noResult
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	// Jobs are started in order: the worker that has the next job does not wait here.
	for from != g.next && g.held > maxWaiting && !g.stopped.Load() {
		g.turn.Wait()
	}
	if g.done {
		return
	}
	for i := from; i < to-1; i++ {
		g.waiting[i] = noResult
	}
	g.waiting[to-1] = f
	g.held += f.size()
	defer g.turn.Broadcast()
	for g.next < g.total && g.waiting[g.next] != nil {
		f := g.waiting[g.next]
		g.waiting[g.next] = nil
		g.held -= f.size()
		g.next++
		if g.full {
			g.past += f.bytes
		}
		if (!g.stopped.Load() || g.late) && f != noResult {
			g.add(f)
		}
		if g.full && !g.stopped.Load() && (g.total-g.next > countOn || g.past > countBytes && g.next < g.total) && g.q.Mode != Counts {
			g.answer.More = true
			g.stopped.Store(true)
		}
	}
}

// deliverAll takes the results of some jobs if they arrive in any order.
func (g *gather) deliverAll(list []*found) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range list {
		if !g.done {
			g.add(f)
		}
	}
}

// stop ends the search as incomplete. Results of running jobs are still taken.
func (g *gather) stop(why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next < g.total && !g.stopped.Load() && !g.done {
		g.stopped.Store(true)
		if g.full && g.q.Mode != Counts {
			g.answer.More = true // all that the query asked for was found
		} else {
			g.incomplete(why)
			g.late = true
		}
		g.turn.Broadcast()
	}
}

// changed records that a file was not in its recorded state, and that a new record
// could be made.
func (g *gather) changed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stale = true
}

// note records what was not searched as requested.
func (g *gather) note(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.incomplete(what)
}

// incomplete stores the first reason.
func (g *gather) incomplete(why string) {
	if g.answer.Incomplete == "" && !g.done {
		g.answer.Incomplete = why
	}
}

// needsMore reports whether more jobs should be started.
func (g *gather) needsMore() bool { return !g.stopped.Load() }

// entryLimit returns the limit of entries of a file that can be needed.
func (g *gather) entryLimit() int {
	end := g.q.page()
	if end == 0 {
		return math.MaxInt
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.full {
		return 0
	}
	return end
}

// window returns the range of entries of a job's file that are needed. It waits for the
// job's turn, because it needs the number of earlier entries. The worker must have put
// its earlier jobs.
func (g *gather) window(job int) (skip, keep int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for job != g.next && !g.stopped.Load() {
		g.turn.Wait()
	}
	if g.done {
		return 0, 0
	}
	first := g.answer.Total
	switch end := g.q.page(); {
	case g.full || g.stopped.Load() && !g.late:
		return 0, 0
	case job != g.next: // late: the turn does not come, and not much more text
		return 0, cmp.Or(end, math.MaxInt)
	case end > 0:
		keep = end - first
	default:
		keep = math.MaxInt
	}
	return max(0, g.q.Offset-first), keep
}

// finish completes the answer when no job runs any more. It returns false if the answer
// was already returned.
func (g *gather) finish(q *Query) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done {
		return false
	}
	g.end()
	if g.later {
		g.order(q)
	}
	g.done = true
	return true
}

// freeze completes the answer with the results so far, while jobs may still run. It
// returns nil if the answer was complete.
func (g *gather) freeze(q *Query) *Answer {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done {
		return nil
	}
	g.stopped.Store(true)
	g.late = true
	g.incomplete(late)
	g.end()
	if g.later {
		g.order(q)
	}
	g.done = true
	g.turn.Broadcast()
	return g.answer
}

// end completes the answer. g.mu must be held, or no job runs any more.
func (g *gather) end() {
	if g.late { // there are gaps
		for _, f := range g.waiting[min(g.next, len(g.waiting)):] {
			if f != nil && f != noResult {
				g.add(f)
			}
		}
	}
	g.answer.Text = bytes.Join(g.pieces, nil)
}

// add takes the result of the next file, or of any file if they arrive in any order.
func (g *gather) add(f *found) {
	a := g.answer
	if f.failed {
		a.Unreadable++
	}
	if f.skipped {
		return
	}
	a.Matched++
	a.Hits += f.hits
	first, end := a.Total, g.q.page()
	a.Total += f.shown
	g.full = end > 0 && a.Total >= end
	if end > 0 && first >= end || first+f.shown <= g.q.Offset {
		return
	}
	if g.later {
		g.names = append(g.names, f)
		return
	}
	if g.q.Mode != Lines {
		a.Files = append(a.Files, File{f.path, f.hits})
		return
	}
	from, to := max(0, g.q.Offset-first, f.added), f.shown
	if end > 0 {
		to = min(to, end-first)
	}
	if from >= to {
		return
	}
	if from < f.base || to-f.base > len(f.entries) || !g.appendText(f.slice(from-f.base, to-f.base, g.size == 0)) {
		g.tooLong()
	}
}

// appendText adds text to the answer, if there is room for it.
func (g *gather) appendText(text []byte) bool {
	if g.size+len(text) > maxText {
		return false
	}
	g.size += len(text)
	if g.q.Out == nil {
		g.pieces = append(g.pieces, text)
	} else {
		_, _ = g.q.Out.Write(text)
	}
	return true
}

func (g *gather) tooLong() {
	g.stopped.Store(true)
	g.incomplete("the answer is longer than 64 MiB")
}

// stream adds entries of the job whose turn it is to the answer. The first of them must
// not have been added. undo removes them; it is nil if nothing was added.
func (g *gather) stream(f *found) (undo func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done || g.stopped.Load() || len(f.entries) == 0 {
		return nil
	}
	size, back := g.size, g.q.Out.Mark()
	if !g.appendText(f.slice(0, len(f.entries), g.size == 0)) {
		g.tooLong()
	}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !g.done {
			g.size = size
			back()
		}
	}
}

// abandon stops writing to Query.Out.
func (g *gather) abandon() {
	if g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.done = true
		g.stopped.Store(true) // ends workers that wait for their turn
		g.turn.Broadcast()
	}
}

// slice returns the text of some entries. A page does not begin with a gap.
func (f *found) slice(from, to int, first bool) []byte {
	start := 0
	switch {
	case first:
		start = f.entries[from].start
	case from > 0:
		start = f.entries[from-1].end
	}
	return f.text[start:f.entries[to-1].end]
}
