package index

import "sync/atomic"

// Filter looks up the literals of a [Query] in the signatures of a Store. It is safe
// for concurrent use. It caches results for groups of blocks, so it is valid only while
// the Store does not change.
type Filter struct {
	s       *Store
	clauses []asked
}

// asked is a clause with its cached results, by group.
type asked struct {
	clause
	answers []answer
}

// answer holds the columns in which one of the literals may start.
type answer struct {
	columns atomic.Uint64
	known   atomic.Bool // whether columns is set
}

// Filter returns a filter for q. A nil Query excludes nothing.
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

// in reports whether a literal of the clause may start in a block.
func (a *asked) in(s *Store, at slot) bool {
	known := &a.answers[at.group()]
	if !known.known.Load() {
		known.columns.Store(a.columns(&s.groups[at.group()]))
		known.known.Store(true)
	}
	return known.columns.Load()>>at.column()&1 != 0
}

// columns returns the columns of a group in which a literal of the clause may start.
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

// allIn reports whether each of the clauses may have a literal in blocks first to last.
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

// File reports whether the text of file id can contain a match that spans lines: every
// clause is looked up in the whole text.
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

// slot reports whether every clause may have a literal in one block.
func (f *Filter) slot(at slot) bool {
	for i := range f.clauses {
		if !f.clauses[i].in(f.s, at) {
			return false
		}
	}
	return true
}
