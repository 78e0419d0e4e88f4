package search

import (
	"bytes"
	"cmp"
	"math"
	"sync"
	"sync/atomic"
)

const (
	// maxText is the most text of an answer, in bytes: ten times what any
	// client takes, kept for those that ask for all.
	maxText = 64 << 20
	// countOn is how many files are still searched once a page is full, only to
	// know how many entries there are in all: some milliseconds of work. With
	// more of them the answer says "more than".
	countOn = 500
	// countBytes is how much of them is read at most, about, in bytes.
	countBytes = 64 << 20
	// maxWaiting is how much of the results, in bytes, may wait for a file
	// before them that takes long: workers wait then, too.
	maxWaiting = 4 << 20
)

// found is what one file has.
type found struct {
	path    string
	hits    int     // lines that match
	shown   int     // entries: 1 for a file, the lines shown else
	text    []byte  // some of the lines shown, from the number base on
	entries []entry // where they are in text
	base    int
	given   int   // entries that are in the answer already
	bytes   int64 // that were read
	mtime   int64 // of Names that are put in order at the end
	failed  bool  // could not be read
	skipped bool  // does not count: no match, binary, not to be shown
}

// entry is a line shown: where it begins in a text, behind the gap before it if
// there is one, and where it ends.
type entry struct{ start, end int }

// size is the memory of a result, in bytes, about.
func (f *found) size() int {
	if f == nothing {
		return 0
	}
	return 128 + len(f.path) + cap(f.text) + 16*cap(f.entries)
}

// gather puts the results of files together in their order, while they come in
// any order.
type gather struct {
	q     *Query
	total int // of jobs

	mu      sync.Mutex
	waiting []*found   // by job, unless later: those that came before their turn; nil: has not come
	held    int        // their size
	turn    *sync.Cond // of mu: next or stopped changed
	next    int        // whose turn it is
	answer  *Answer
	pieces  [][]byte    // of the text of the answer, unless it goes to Query.Out
	size    int         // of the text, in bytes
	names   []*found    // those to be put in order at the end
	later   bool        // Names come in any order
	full    bool        // the page is
	past    int64       // bytes that were read since
	stale   bool        // a record could be made of a file that was not in the state known
	late    bool        // it was stopped before its end: what was found till then is the answer
	done    bool        // the answer is complete, or given as it was: nothing is added any more
	stopped atomic.Bool // no more jobs are taken up; set under mu
}

// nothing stands for a file that has nothing to tell.
var nothing = new(found)

func newGather(q *Query, jobs int, later bool, a *Answer) *gather {
	g := &gather{q: q, total: jobs, later: later, answer: a}
	if !later {
		g.waiting = make([]*found, jobs)
	}
	g.turn = sync.NewCond(&g.mu)
	return g
}

// put takes the result of some jobs that follow each other, of which only the last
// has something to tell; nil says that it has not either.
func (g *gather) put(from, to int, f *found) {
	if from >= to { // all were put, or the batch begins behind the last job
		return
	}
	if f == nil {
		f = nothing
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	// Jobs are taken up in order: who has the next one does not wait here.
	for from != g.next && g.held > maxWaiting && !g.stopped.Load() {
		g.turn.Wait()
	}
	if g.done {
		return
	}
	for i := from; i < to-1; i++ {
		g.waiting[i] = nothing
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
		if (!g.stopped.Load() || g.late) && f != nothing {
			g.add(f)
		}
		if g.full && !g.stopped.Load() && (g.total-g.next > countOn || g.past > countBytes && g.next < g.total) && g.q.Mode != Counts {
			g.answer.More = true
			g.stopped.Store(true)
		}
	}
}

// putAll takes the results of some jobs if they come in any order.
func (g *gather) putAll(list []*found) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range list {
		if !g.done {
			g.add(f)
		}
	}
}

// stop ends the search, incomplete. What is found of the jobs that run is still taken.
func (g *gather) stop(why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next < g.total && !g.stopped.Load() && !g.done {
		g.stopped.Store(true)
		if g.full && g.q.Mode != Counts {
			g.answer.More = true // all that was asked for is there
		} else {
			g.incomplete(why)
			g.late = true
		}
		g.turn.Broadcast()
	}
}

// changed says that a file was not in the state known, and that a record could be
// made of the one it is in.
func (g *gather) changed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stale = true
}

// note says what was not searched as asked.
func (g *gather) note(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.incomplete(what)
}

// incomplete keeps the first reason.
func (g *gather) incomplete(why string) {
	if g.answer.Incomplete == "" && !g.done {
		g.answer.Incomplete = why
	}
}

// wanted reports whether jobs are to be taken up.
func (g *gather) wanted() bool { return !g.stopped.Load() }

// keep is how many entries of a file are worth keeping.
func (g *gather) keep() int {
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

// window is which entries of a job's file are worth keeping, from and to. It
// waits for its turn: only then is it known how many there are before. What its
// worker did before must have been put.
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
	case job != g.next: // late: the turn does not come, nor much more text
		return 0, cmp.Or(end, math.MaxInt)
	case end > 0:
		keep = end - first
	default:
		keep = math.MaxInt
	}
	return max(0, g.q.Offset-first), keep
}

// finish completes the answer, when no job runs any more. It is false if the
// answer was given before.
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

// freeze completes the answer with what there is, while jobs may still run; nil
// if it is complete.
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

// end completes the answer; g.mu is held, or no job runs any more.
func (g *gather) end() {
	if g.late { // there are gaps
		for _, f := range g.waiting[min(g.next, len(g.waiting)):] {
			if f != nil && f != nothing {
				g.add(f)
			}
		}
	}
	g.answer.Text = bytes.Join(g.pieces, nil)
}

// add takes the result of the next file, or of any if they come in any order.
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
	from, to := max(0, g.q.Offset-first, f.given), f.shown
	if end > 0 {
		to = min(to, end-first)
	}
	if from >= to {
		return
	}
	if from < f.base || to-f.base > len(f.entries) || !g.give(f.slice(from-f.base, to-f.base, g.size == 0)) {
		g.tooLong()
	}
}

// give adds text to the answer, if there is room for it.
func (g *gather) give(text []byte) bool {
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

// stream gives entries of a job whose turn it is, the first of which was not given.
// undo takes them back; nil if nothing was given.
func (g *gather) stream(f *found) (undo func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done || g.stopped.Load() || len(f.entries) == 0 {
		return nil
	}
	size, back := g.size, g.q.Out.Mark()
	if !g.give(f.slice(0, len(f.entries), g.size == 0)) {
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
		g.stopped.Store(true) // workers that wait for their turn end
		g.turn.Broadcast()
	}
}

// slice is the text of some entries; a page does not begin with a gap.
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
