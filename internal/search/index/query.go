package index

import (
	"math"
	"slices"
)

const (
	// maxLiterals is the limit of literals in a clause. With more, one of them is in
	// nearly every block, and the lookup costs more than it saves.
	maxLiterals = 256

	// maxClauses is the limit of clauses that are looked up, the rarest first. Few
	// blocks contain the first of them; the later ones exclude little.
	maxClauses = 16
)

// Literal is a text that a line may have to contain. With Fold it is compared rune by
// rune under Unicode simple case folding: each rune of the line is in the
// [unicode.SimpleFold] orbit of the rune of Text. So k also matches U+212A and s also
// matches U+017F.
type Literal struct {
	Text string
	Fold bool
}

// Query holds literals to look up in signatures. It does not change and is safe for
// concurrent use. A nil Query excludes nothing.
type Query struct {
	clauses []clause // the rarest first
}

// clause holds in a block if one of its literals may start in it.
type clause struct {
	source   []Literal // as given to NewQuery
	literals []literal
	share    float64 // estimated share of the texts that contain one
}

// literal holds the required grams, with those first that are likely to be missing.
type literal []gram

// NewQuery makes a query of clauses in conjunctive form: a matching line contains at
// least one literal of every clause. If there is nothing to filter by, it returns nil
// and false.
//
// A literal cannot be used if it is shorter than three bytes or, in folded case, has no
// three consecutive ASCII bytes. A clause with such a literal, or without literals, is
// ignored. Only the first 64 bytes of a literal are looked up.
func NewQuery(clauses [][]Literal) (*Query, bool) {
	var q Query
	for _, c := range clauses {
		if c, ok := newClause(c); ok {
			q.clauses = append(q.clauses, c)
		}
	}
	if len(q.clauses) == 0 {
		return nil, false
	}
	slices.SortStableFunc(q.clauses, func(a, b clause) int {
		switch {
		case a.share < b.share:
			return -1
		case a.share > b.share:
			return 1
		}
		return 0
	})
	q.clauses = q.clauses[:min(len(q.clauses), maxClauses)]
	return &q, true
}

func newClause(literals []Literal) (clause, bool) {
	c := clause{source: literals}
	if len(literals) == 0 || len(literals) > maxLiterals {
		return c, false
	}
	for _, l := range literals {
		grams, info := l.grams()
		if len(grams) == 0 {
			return c, false
		}
		c.literals = append(c.literals, grams)
		c.share += math.Exp2(-float64(info))
	}
	return c, true
}

// Rarest returns the clause that determines the From and To of ranges.
func (q *Query) Rarest() []Literal { return q.clauses[0].source }
