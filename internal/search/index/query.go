package index

import (
	"math"
	"slices"
)

const (
	// maxLiterals is the largest clause that is asked for. With more, one of
	// them is in nearly every block, and asking costs more than it saves.
	maxLiterals = 256

	// maxClauses is how many clauses are asked for, the rarest. Few blocks
	// have the first of them; what the later ones exclude is little.
	maxClauses = 16
)

// A Literal is a text a line may have to contain. With Fold it is compared
// rune by rune under Unicode simple case folding: each rune of the line is in
// the [unicode.SimpleFold] orbit of the rune of Text. So k also stands for
// U+212A and s for U+017F.
type Literal struct {
	Text string
	Fold bool
}

// A Query asks signatures for literals. It does not change and may be used by
// many goroutines at once. The nil Query excludes nothing.
type Query struct {
	clauses []clause // the rarest first
}

// A clause holds in a block when one of its literals may start in it.
type clause struct {
	source   []Literal // it was made of
	literals []literal
	share    float64 // estimate of the share of texts that have it
}

// literal is the grams that must be there, those first that are likely not.
type literal []gram

// NewQuery makes a query of clauses in conjunctive form: a matching line
// contains, of every clause, at least one literal. It returns nil and false
// when that gives nothing to filter by.
//
// A literal gives nothing when it is shorter than three bytes or, in folded
// case, has no three ASCII bytes in a row. A clause with such a literal, or
// with none, is left out. Of a literal longer than 64 bytes only that much is
// looked at.
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

// Rarest is the clause by which the From and To of ranges are.
func (q *Query) Rarest() []Literal { return q.clauses[0].source }
