package dfa

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// frag is a piece of a program. out lists the places that still need a target: the
// number of an instruction doubled, plus one for its alt.
type frag struct {
	start    uint32
	out      []uint32
	nullable bool // may match the empty text
}

type compiler struct {
	prog    *program
	classes map[string]*class
	edges   int
	size    int // factor of maxInsts and maxEdges
	err     error
}

func newCompiler(crlf bool) *compiler {
	c := &compiler{prog: &program{crlf: crlf}, classes: map[string]*class{}, size: 1}
	c.emit(inst{op: opFail})
	c.emit(inst{op: opMatch})
	c.emit(inst{op: opLook, look: lookLF, out: pcMatch})
	c.emit(inst{op: opLook, look: lookEndText, out: pcMatch})
	return c
}

// finish makes f the whole program.
func (c *compiler) finish(f frag) (*program, error) {
	if c.err != nil {
		return nil, c.err
	}
	c.patch(f.out, pcMatch)
	c.prog.start = f.start
	c.prog.intervals()
	return c.prog, nil
}

func (c *compiler) emit(in inst) uint32 {
	c.edges += len(in.edges)
	if c.err == nil && (len(c.prog.insts) >= c.size*maxInsts || c.edges > c.size*maxEdges) {
		c.err = fmt.Errorf("%w: its program would have more than %d instructions or %d edges", ErrDeclined, c.size*maxInsts, c.size*maxEdges)
	}
	if c.err != nil {
		return pcFail
	}
	c.prog.insts = append(c.prog.insts, in)
	return uint32(len(c.prog.insts) - 1)
}

func (c *compiler) patch(outs []uint32, to uint32) {
	for _, o := range outs {
		if in := &c.prog.insts[o/2]; o%2 == 1 {
			in.alt = to
		} else {
			in.out = to
		}
	}
}

func (c *compiler) tree(re *syntax.Regexp) frag {
	if c.err != nil {
		return frag{}
	}
	switch re.Op {
	case syntax.OpNoMatch:
		return frag{start: pcFail}
	case syntax.OpEmptyMatch:
		return c.empty()
	case syntax.OpLiteral:
		return c.literal(re)
	case syntax.OpCharClass:
		return c.class(re.Rune)
	case syntax.OpAnyChar:
		return c.class([]rune{0, unicode.MaxRune})
	case syntax.OpAnyCharNotNL:
		return c.class([]rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune})
	case syntax.OpBeginLine:
		return c.look(lookBeginLine)
	case syntax.OpEndLine:
		return c.look(lookEndLine)
	case syntax.OpBeginText:
		return c.look(lookBeginText)
	case syntax.OpEndText:
		return c.look(lookEndText)
	case syntax.OpWordBoundary:
		return c.look(lookWord)
	case syntax.OpNoWordBoundary:
		return c.look(lookNotWord)
	case syntax.OpCapture:
		return c.tree(re.Sub[0])
	case syntax.OpStar:
		return c.star(c.tree(re.Sub[0]), re.Flags&syntax.NonGreedy != 0)
	case syntax.OpPlus:
		return c.plus(c.tree(re.Sub[0]), re.Flags&syntax.NonGreedy != 0)
	case syntax.OpQuest:
		return c.quest(c.tree(re.Sub[0]), re.Flags&syntax.NonGreedy != 0)
	case syntax.OpConcat:
		return c.concat(re.Sub)
	case syntax.OpAlternate:
		return c.alternate(re.Sub)
	}
	c.err = fmt.Errorf("%w: it has the unknown operation %v", ErrDeclined, re.Op)
	return frag{}
}

func (c *compiler) empty() frag {
	pc := c.emit(inst{op: opJump})
	return frag{pc, []uint32{pc * 2}, true}
}

func (c *compiler) look(l look) frag {
	pc := c.emit(inst{op: opLook, look: l})
	return frag{pc, []uint32{pc * 2}, true}
}

func (c *compiler) literal(re *syntax.Regexp) frag {
	if len(re.Rune) == 0 {
		return c.empty()
	}
	var all frag
	for i, r := range re.Rune {
		set := []rune{r, r}
		if re.Flags&syntax.FoldCase != 0 {
			set = foldings(r)
		}
		f := c.class(set)
		if i == 0 {
			all = f
			continue
		}
		c.patch(all.out, f.start)
		all.out = f.out
	}
	return all
}

func (c *compiler) concat(subs []*syntax.Regexp) frag {
	if len(subs) == 0 {
		return c.empty()
	}
	all := c.tree(subs[0])
	for _, sub := range subs[1:] {
		f := c.tree(sub)
		c.patch(all.out, f.start)
		all.out = f.out
		all.nullable = all.nullable && f.nullable
	}
	return all
}

func (c *compiler) alternate(subs []*syntax.Regexp) frag {
	if len(subs) == 0 {
		return frag{start: pcFail}
	}
	last := c.tree(subs[len(subs)-1])
	for i := len(subs) - 2; i >= 0; i-- {
		f := c.tree(subs[i])
		pc := c.emit(inst{op: opSplit, out: f.start, alt: last.start})
		last = frag{pc, append(f.out, last.out...), f.nullable || last.nullable}
	}
	return last
}

// branch makes a split with one way to to, and the other one open.
func (c *compiler) branch(to uint32, lazy bool) (pc uint32, open uint32) {
	if lazy {
		pc = c.emit(inst{op: opSplit, alt: to})
		return pc, pc * 2
	}
	pc = c.emit(inst{op: opSplit, out: to})
	return pc, pc*2 + 1
}

func (c *compiler) quest(f frag, lazy bool) frag {
	pc, open := c.branch(f.start, lazy)
	return frag{pc, append(f.out, open), true}
}

func (c *compiler) plus(f frag, lazy bool) frag {
	pc, open := c.branch(f.start, lazy)
	c.patch(f.out, pc)
	return frag{f.start, []uint32{open}, f.nullable}
}

// star loops. A body that may be empty is tried once before its loop. Otherwise the
// order of preference would not be that of package regexp.
func (c *compiler) star(f frag, lazy bool) frag {
	if f.nullable {
		return c.quest(c.plus(f, lazy), lazy)
	}
	pc, open := c.branch(f.start, lazy)
	c.patch(f.out, pc)
	return frag{pc, []uint32{open}, true}
}

// class compiles a set of runes, given as pairs of first and last.
func (c *compiler) class(pairs []rune) frag {
	key := string(fmt.Append(nil, pairs))
	cl := c.classes[key]
	if cl == nil {
		cl = newClass(pairs, c.prog.newlines)
		c.classes[key] = cl
	}
	if cl.root < 0 {
		return frag{start: pcFail}
	}
	exit := c.emit(inst{op: opJump})
	base := uint32(len(c.prog.insts))
	for _, node := range cl.nodes {
		edges := slices.Clone(node)
		for i := range edges {
			if edges[i].out == classEnd {
				edges[i].out = exit
			} else {
				edges[i].out += base
			}
		}
		c.emit(inst{op: opBytes, edges: edges})
	}
	if c.err != nil {
		return frag{}
	}
	return frag{base + uint32(cl.root), []uint32{exit * 2}, false}
}

// weight returns the number of nodes of a tree with its repeats written out, up to
// about limit. For a tree nested too deeply it returns limit.
func weight(re *syntax.Regexp, limit, depth int) int {
	if depth > maxDepth {
		return limit
	}
	sum := 1
	if re.Op == syntax.OpLiteral {
		sum += len(re.Rune)
	}
	for _, sub := range re.Sub {
		sum += weight(sub, limit, depth+1)
		if sum >= limit {
			return limit
		}
	}
	if re.Op == syntax.OpRepeat {
		sum *= max(re.Min, re.Max, 1)
	}
	return min(sum, limit)
}

// runeMax holds the last rune of each length in UTF-8.
var runeMax = [...]rune{1: 0x7f, 2: 0x7ff, 3: 0xffff, 4: utf8.MaxRune}
