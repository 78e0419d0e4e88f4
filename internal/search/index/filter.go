package index

import "sync/atomic"

// A Filter asks the signatures of a Store for the literals of a [Query]. It is safe
// for concurrent use, and good while the Store does not change: it remembers what a
// group of blocks said.
type Filter struct {
	s       *Store
	clauses []asked
}

// asked is a clause with what was answered, by group.
type asked struct {
	clause
	answers []answer
}

// An answer has the columns in which one of the literals may start.
type answer struct {
	columns atomic.Uint64
	known   atomic.Bool // columns is set
}

// Filter makes a filter. That of the nil Query excludes nothing.
func (s *Store) Filter(q *Query) *Filter {
	f := &Filter{s: s}
	if q == nil {
		return f
	}
	f.clauses = make([]asked, len(q.clauses))
	for i, c := range q.clauses {
		f.clauses[i] = asked{c, make([]answer, len(s.groups))}
	}
	return f
}

// in tells whether a literal of the clause may start in a block.
func (a *asked) in(s *Store, at slot) bool {
	known := &a.answers[at.group()]
	if !known.known.Load() {
		known.columns.Store(a.columns(&s.groups[at.group()]))
		known.known.Store(true)
	}
	return known.columns.Load()>>at.column()&1 != 0
}

// columns gives those of a group in which a literal of the clause may start.
func (c *clause) columns(g *group) (found uint64) {
	for _, l := range c.literals {
		row := g.used
		for _, h := range l {
			there := g.with(h.places[0])
			if h.places[1] != h.places[0] {
				there |= g.with(h.places[1])
			}
			if h.odd {
				there |= g.odd
			}
			if row &= there; row == 0 {
				break
			}
		}
		if found |= row; found == g.used {
			break
		}
	}
	return found
}

// allIn tells whether each of the clauses may have a literal in blocks first to last.
func (f *Filter) allIn(clauses []asked, d directory, first, last int) bool {
	for i := range clauses {
		b := first
		for b <= last && !clauses[i].in(f.s, d.slot(b)) {
			b++
		}
		if b > last {
			return false
		}
	}
	return true
}

// File tells whether the text of file id can hold a match that runs over lines:
// every clause is asked for in the whole text.
func (f *Filter) File(id uint32) bool {
	switch r := f.s.ref(id); {
	case r == 0 || len(f.clauses) == 0:
		return true
	case r == refEmpty:
		return false
	case r&refDirectory == 0:
		return f.slot(r.slot())
	default:
		d := f.s.directories[r.directory()]
		return f.allIn(f.clauses, d, 0, d.blocks()-1)
	}
}

// slot tells whether every clause may have a literal in one block.
func (f *Filter) slot(at slot) bool {
	for i := range f.clauses {
		if !f.clauses[i].in(f.s, at) {
			return false
		}
	}
	return true
}
