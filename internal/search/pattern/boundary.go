package pattern

import (
	"regexp/syntax"
	"slices"
)

// mark is a half of a word boundary.
type mark byte

const (
	wordStart mark = iota + 1 // \< or \b{start}: no word before, a word after
	wordEnd                   // \> or \b{end}: a word before, no word after
	startHalf                 // \b{start-half}: no word before
	endHalf                   // \b{end-half}: no word after
)

// half returns the node of a mark until it is resolved.
func half(m mark, pos int) node {
	n := leaf(syntax.OpEmptyMatch)
	n.mark, n.pos = m, pos
	return n
}

// resolve concatenates parts that may contain halves of word boundaries. regexp/syntax
// has only the whole boundary, which means that exactly one of the runes beside it is a
// word rune. Together with the kind of one of these runes that gives a half. So resolve
// narrows one side: \<X is \bX with an X that begins with a word rune, X\> is X\b with
// an X that ends with one.
func (p *parser) resolve(parts []node) node {
	for {
		i := slices.IndexFunc(parts, func(n node) bool { return n.mark != 0 })
		if i < 0 {
			return concat(parts)
		}
		m := parts[i]
		before, after := nearBefore(parts[:i]), nearAfter(parts[i+1:])
		ahead := m.mark == wordStart || m.mark == startHalf // the word is after
		var re *syntax.Regexp
		switch {
		case ahead && after != nil:
			re = p.wordSide(m, after, true)
			before = nil
		case !ahead && before != nil:
			re = p.wordSide(m, before, false)
			after = nil
		case ahead && before != nil:
			re = p.otherSide(m, before, false)
		case !ahead && after != nil:
			re = p.otherSide(m, after, true)
		default:
			p.fail(m.pos, "the word boundary has no text beside it that must be there: it is",
				`Write \b instead, or move it into the group or alternative whose text it is about.`)
		}
		n := measure(re)
		if n.size > maxSize || n.runes > maxRunes {
			p.tooBig(m.pos)
		}
		parts = slices.Concat(parts[:i-len(before)], []node{n}, parts[i+1+len(after):])
	}
}

// nearBefore and nearAfter return the fewest parts next to a mark that together cannot
// be empty, or nil if there are none up to the next mark.
func nearBefore(parts []node) []node {
	for i := len(parts) - 1; i >= 0 && parts[i].mark == 0; i-- {
		if !canBeEmpty(parts[i].re) {
			return parts[i:]
		}
	}
	return nil
}

func nearAfter(parts []node) []node {
	for i := 0; i < len(parts) && parts[i].mark == 0; i++ {
		if !canBeEmpty(parts[i].re) {
			return parts[:i+1]
		}
	}
	return nil
}

// wordSide resolves a mark by the side on which it has its word.
func (p *parser) wordSide(m node, side []node, after bool) *syntax.Regexp {
	re := concat(side).re
	whole := func(op syntax.Op, s set) *syntax.Regexp {
		full := p.narrow(re, s, after, m.pos)
		if after {
			return chain(leaf(op).re, full)
		}
		return chain(full, leaf(op).re)
	}
	if m.mark == wordStart || m.mark == wordEnd {
		return whole(syntax.OpWordBoundary, word())
	}
	return choice(whole(syntax.OpWordBoundary, word()), whole(syntax.OpNoWordBoundary, word().negate()))
}

// otherSide resolves a mark by the side that must not be a word.
func (p *parser) otherSide(m node, side []node, after bool) *syntax.Regexp {
	full := p.narrow(concat(side).re, word().negate(), after, m.pos)
	switch {
	case m.mark == startHalf || m.mark == endHalf:
		return full
	case after:
		return chain(leaf(syntax.OpWordBoundary).re, full)
	}
	return chain(full, leaf(syntax.OpWordBoundary).re)
}

func chain(res ...*syntax.Regexp) *syntax.Regexp  { return concat(bare(res)).re }
func choice(res ...*syntax.Regexp) *syntax.Regexp { return alternate(bare(res)).re }

// bare makes nodes without measuring them.
func bare(res []*syntax.Regexp) []node {
	out := make([]node, len(res))
	for i, re := range res {
		out[i].re = re
	}
	return out
}

// canBeEmpty reports whether a tree can match the empty text.
func canBeEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpNoMatch, syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return false
	case syntax.OpPlus:
		return canBeEmpty(re.Sub[0])
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(s *syntax.Regexp) bool { return !canBeEmpty(s) })
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, canBeEmpty)
	}
	return true
}

// maxNarrowed limits the parts of a concatenation that can be empty before one that
// cannot: narrowing writes an alternative for each.
const maxNarrowed = 64

// narrow returns the tree of the matches that are not empty and whose first rune (last,
// if first is false) is in the set.
func (p *parser) narrow(re *syntax.Regexp, s set, first bool, pos int) *syntax.Regexp {
	full, _ := p.split(re, s, first, pos)
	return full
}

// split returns the narrowed tree, and the tree of the empty matches or nil.
func (p *parser) split(re *syntax.Regexp, s set, first bool, pos int) (full, none *syntax.Regexp) {
	switch re.Op {
	case syntax.OpNoMatch:
		return re, nil
	case syntax.OpLiteral:
		r := re.Rune[0]
		if !first {
			r = re.Rune[len(re.Rune)-1]
		}
		if s.has(r) { // its other cases are of the same kind
			return re, nil
		}
		return never().re, nil
	case syntax.OpCharClass:
		return class(set(re.Rune).intersect(s)).re, nil
	case syntax.OpAnyChar:
		return class(s).re, nil
	case syntax.OpAnyCharNotNL:
		return class(s.minus(newline)).re, nil
	case syntax.OpQuest:
		full, _ = p.split(re.Sub[0], s, first, pos)
		return full, empty().re
	case syntax.OpStar, syntax.OpPlus:
		full, none = p.split(re.Sub[0], s, first, pos)
		rest := &syntax.Regexp{Op: syntax.OpStar, Flags: re.Flags, Sub: re.Sub}
		if re.Op == syntax.OpStar {
			none = empty().re
		}
		if first {
			return chain(full, rest), none
		}
		return chain(rest, full), none
	case syntax.OpAlternate:
		return p.splitAlternate(re, s, first, pos)
	case syntax.OpConcat:
		return p.splitConcat(re, s, first, pos)
	}
	return never().re, re // a boundary, an anchor or the empty text
}

func (p *parser) splitAlternate(re *syntax.Regexp, s set, first bool, pos int) (full, none *syntax.Regexp) {
	var fulls, nones []*syntax.Regexp
	for _, sub := range re.Sub {
		f, n := p.split(sub, s, first, pos)
		fulls = append(fulls, f)
		if n != nil {
			nones = append(nones, n)
		}
	}
	if len(nones) > 0 {
		none = choice(nones...)
	}
	return choice(fulls...), none
}

// splitConcat proceeds from the near end over parts that can be empty.
func (p *parser) splitConcat(re *syntax.Regexp, s set, first bool, pos int) (full, none *syntax.Regexp) {
	var fulls []*syntax.Regexp
	passed := empty().re // the empty matches of the parts so far
	for i := range re.Sub {
		if i > maxNarrowed {
			p.tooBig(pos)
		}
		at, rest := re.Sub[i], re.Sub[i+1:]
		if !first {
			at, rest = re.Sub[len(re.Sub)-1-i], re.Sub[:len(re.Sub)-1-i]
		}
		f, n := p.split(at, s, first, pos)
		if first {
			fulls = append(fulls, chain(passed, f, chain(rest...)))
		} else {
			fulls = append(fulls, chain(chain(rest...), f, passed))
		}
		if n == nil {
			return choice(fulls...), nil
		}
		if first {
			passed = chain(passed, n)
		} else {
			passed = chain(n, passed)
		}
	}
	return choice(fulls...), passed
}
