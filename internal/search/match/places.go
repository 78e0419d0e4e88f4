package match

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"sync"

	"mcp-toolset/internal/search/pattern"
)

// places are the regexps of a pattern for the places that a piece of a text can
// have in it. Package regexp takes what it is given for the text; but \A and \z
// hold only where that begins and ends. They are made when they are needed: one
// may take a quarter of a second.
type places [4]func() *regexp.Regexp

func newPlaces(p *pattern.Pattern) (places, error) {
	whole, err := p.Compile()
	if err != nil {
		return places{}, err
	}
	var all places
	for i := range all {
		all[i] = func() *regexp.Regexp { return whole }
		if begin, end := i&1 != 0, i&2 != 0; !(begin && end) && anchored(p.Tree) {
			all[i] = sync.OnceValue(func() *regexp.Regexp {
				re, err := (&pattern.Pattern{Tree: without(p.Tree, !begin, !end)}).Compile()
				if err != nil { // it is no larger than the whole
					return whole
				}
				return re
			})
		}
	}
	return all, nil
}

// of is the regexp for a piece that begins, ends the text.
func (p *places) of(begin, end bool) *regexp.Regexp {
	i := 0
	if begin {
		i |= 1
	}
	if end {
		i |= 2
	}
	return p[i]()
}

func anchored(re *syntax.Regexp) bool {
	return re.Op == syntax.OpBeginText || re.Op == syntax.OpEndText || slices.ContainsFunc(re.Sub, anchored)
}

// without is a tree in which \A, \z match nowhere.
func without(re *syntax.Regexp, begin, end bool) *syntax.Regexp {
	switch {
	case begin && re.Op == syntax.OpBeginText, end && re.Op == syntax.OpEndText:
		return &syntax.Regexp{Op: syntax.OpNoMatch}
	case len(re.Sub) == 0:
		return re
	}
	out := *re
	out.Sub = make([]*syntax.Regexp, len(re.Sub))
	for i, sub := range re.Sub {
		out.Sub[i] = without(sub, begin, end)
	}
	return &out
}
