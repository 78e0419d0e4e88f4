package pattern

import (
	"regexp/syntax"
	"slices"
	"unicode"
)

// node is a part of the tree with its cost when its repeats are written out. A mark is
// a half of a word boundary, which is not a node of regexp/syntax: see resolve.
type node struct {
	re     *syntax.Regexp
	size   int // instructions
	runes  int // ends of ranges in classes
	height int
	mark   mark
	pos    int // of a mark, in bytes
}

func leaf(op syntax.Op) node { return node{re: &syntax.Regexp{Op: op}, size: 1, height: 1} }

// never matches nothing, and empty matches the empty text.
func never() node { return leaf(syntax.OpNoMatch) }
func empty() node { return leaf(syntax.OpEmptyMatch) }

// literal returns a node for one rune, in all its cases if fold is set.
func literal(r rune, fold bool) node {
	n := leaf(syntax.OpLiteral)
	n.re.Rune = []rune{r}
	if fold && unicode.SimpleFold(r) != r {
		n.re.Flags = syntax.FoldCase
	}
	return n
}

// class returns the simplest node for one rune of a set.
func class(s set) node {
	switch {
	case len(s) == 0:
		return never()
	case len(s) == 2 && s[0] == s[1]:
		return literal(s[0], false)
	case len(s) == 2 && s[0] == 0 && s[1] == unicode.MaxRune:
		return leaf(syntax.OpAnyChar)
	case slices.Equal(s, newline.negate()):
		return leaf(syntax.OpAnyCharNotNL)
	case unicode.SimpleFold(s[0]) != s[0] && len(s) <= 8 && slices.Equal(s, rangeSet(s[0], s[0]).folded()):
		return literal(s[0], true)
	}
	n := leaf(syntax.OpCharClass)
	n.re.Rune, n.runes = s, len(s)
	return n
}

// concat concatenates parts. It joins adjacent literals.
func concat(parts []node) node {
	out := node{re: &syntax.Regexp{Op: syntax.OpConcat}}
	var b joiner
	for _, n := range parts {
		if n.re.Op == syntax.OpNoMatch {
			return n
		}
		out.size, out.runes, out.height = out.size+n.size, out.runes+n.runes, max(out.height, n.height)
		if n.re.Op == syntax.OpConcat {
			for _, re := range n.re.Sub {
				b.add(re)
			}
		} else {
			b.add(n.re)
		}
	}
	switch len(b.subs) {
	case 0:
		return empty()
	case 1:
		out.re = b.subs[0]
		return out
	}
	out.re.Sub = b.subs
	out.height++
	return out
}

// joiner collects the parts of a concatenation.
type joiner struct {
	subs []*syntax.Regexp
	own  *syntax.Regexp // the last part if made here; parts passed in are shared and must not change
	bare bool           // whether the last part is a literal without case
}

func (b *joiner) add(re *syntax.Regexp) {
	if re.Op == syntax.OpEmptyMatch {
		return
	}
	n := len(b.subs)
	if re.Op != syntax.OpLiteral || n == 0 || b.subs[n-1].Op != syntax.OpLiteral || !b.join(re) {
		b.subs, b.own = append(b.subs, re), nil
		b.bare = re.Op == syntax.OpLiteral && caseless(re.Rune)
	}
}

// join appends a literal to the literal before, unless only one of them folds. For
// runes without case that makes no difference.
func (b *joiner) join(re *syntax.Regexp) bool {
	last, bare := b.subs[len(b.subs)-1], caseless(re.Rune)
	if last.Flags != re.Flags && !bare && !b.bare {
		return false
	}
	if b.own == nil {
		b.own = &syntax.Regexp{Op: syntax.OpLiteral, Flags: last.Flags, Rune: slices.Clone(last.Rune)}
		b.subs[len(b.subs)-1] = b.own
	}
	if !bare {
		b.own.Flags = re.Flags
	}
	b.own.Rune = append(b.own.Rune, re.Rune...)
	b.bare = b.bare && bare
	return true
}

func caseless(rs []rune) bool {
	return !slices.ContainsFunc(rs, func(r rune) bool { return unicode.SimpleFold(r) != r })
}

// alternate returns the alternation of parts: the first that matches is preferred.
func alternate(parts []node) node {
	out := node{re: &syntax.Regexp{Op: syntax.OpAlternate}}
	for _, n := range parts {
		if n.re.Op == syntax.OpNoMatch {
			continue
		}
		out.size, out.runes, out.height = out.size+n.size+1, out.runes+n.runes, max(out.height, n.height)
		if n.re.Op == syntax.OpAlternate {
			out.re.Sub = append(out.re.Sub, n.re.Sub...)
		} else {
			out.re.Sub = append(out.re.Sub, n.re)
		}
	}
	switch len(out.re.Sub) {
	case 0:
		return never()
	case 1:
		out.re = out.re.Sub[0]
		return out
	}
	out.height++
	return out
}

// unlimited is the upper count of an open repeat.
const unlimited = -1

// repeat repeats n from low to high times. If the result is too large, it fails with an
// error at offset.
func (p *parser) repeat(n node, low, high int, lazy bool, offset int) node {
	if n.re.Op == syntax.OpNoMatch {
		if low == 0 {
			return empty()
		}
		return n
	}
	times := max(low+1, high)
	// The counts have at most 10 digits, the sizes are within the limits: no overflow.
	out := node{re: &syntax.Regexp{Op: syntax.OpRepeat, Min: low, Max: high, Sub: []*syntax.Regexp{n.re}},
		size: (n.size + 1) * times, runes: n.runes * times, height: n.height + 1}
	if lazy {
		out.re.Flags = syntax.NonGreedy
	}
	switch {
	case low == 0 && high == unlimited:
		out.re.Op = syntax.OpStar
	case low == 1 && high == unlimited:
		out.re.Op = syntax.OpPlus
	case low == 0 && high == 1:
		out.re.Op = syntax.OpQuest
	case high == 0:
		return empty()
	case out.size > maxSize || out.runes > maxRunes:
		p.tooBig(offset)
	default:
		out = counted(n, out)
	}
	if out.size > maxSize || out.runes > maxRunes {
		p.tooBig(offset)
	}
	if out.height > maxHeight {
		p.tooDeep(offset)
	}
	return out
}

// counted writes out a counted repeat. It nests the optional rest of x{0,n} as
// x(x(x)?)?, so that few threads run at a time, but only in blocks that keep the tree
// flat enough.
func counted(n node, out node) node {
	low, high, flags := out.re.Min, out.re.Max, out.re.Flags
	block := max(1, (maxHeight/2-n.height)/2)
	subs := make([]*syntax.Regexp, 0, low+1)
	for range low {
		subs = append(subs, n.re)
	}
	if high == unlimited {
		subs[low-1] = &syntax.Regexp{Op: syntax.OpPlus, Flags: flags, Sub: []*syntax.Regexp{n.re}}
	}
	for rest := high - low; rest > 0; rest -= block {
		var nest *syntax.Regexp
		for range min(rest, block) {
			body := n.re
			if nest != nil {
				body = &syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{n.re, nest}}
			}
			nest = &syntax.Regexp{Op: syntax.OpQuest, Flags: flags, Sub: []*syntax.Regexp{body}}
		}
		subs = append(subs, nest)
	}
	if high > low {
		out.height += 2 * min(high-low, block)
	}
	if len(subs) == 1 {
		out.re = subs[0]
	} else {
		out.re = &syntax.Regexp{Op: syntax.OpConcat, Sub: subs}
	}
	out.height++
	return out
}

// measure returns the costs of a tree without counted repeats.
func measure(re *syntax.Regexp) node {
	out := node{re: re, size: max(1, len(re.Sub))}
	switch re.Op {
	case syntax.OpLiteral:
		out.size = len(re.Rune)
	case syntax.OpCharClass:
		out.runes = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n := measure(sub)
		out.size, out.runes, out.height = out.size+n.size, out.runes+n.runes, max(out.height, n.height)
	}
	out.height++
	return out
}
