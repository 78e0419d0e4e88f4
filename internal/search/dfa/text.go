package dfa

import (
	"fmt"
	"regexp/syntax"
	"sync"
)

// Text finds the positions of matches, in a text of many lines or in one line. It
// covers what a DFA does not: matches that span lines, and expressions too large for a
// DFA. It is about as fast as package regexp, and as exact as a DFA: word boundaries
// are Unicode's, and nothing matches an invalid byte. It is safe for concurrent use.
type Text struct {
	m          *machine
	vms        *sync.Pool
	begin, end bool
}

// NewText compiles a tree. With newlines, dots and classes match '\n' where the tree
// allows it. The error wraps ErrDeclined: programs may be 16 times as large as those of
// a DFA.
func NewText(re *syntax.Regexp, newlines bool) (*Text, error) {
	if weight(re, maxWeight, 0) >= maxWeight {
		return nil, fmt.Errorf("%w: it has more than %d parts, or is nested deeper than %d", ErrDeclined, maxWeight, maxDepth)
	}
	c := newCompiler(true)
	c.prog.newlines, c.size = newlines, textSize
	prog, err := c.finish(c.tree(re.Simplify()))
	if err != nil {
		return nil, err
	}
	m := &machine{prog: prog, prefix: prog.prefix()}
	m.start(newCache(m))
	return &Text{m, &sync.Pool{New: func() any { return new(vm) }}, true, true}, nil
}

// Part returns a Text for buffers that are parts of a text. begin and end are whether
// they begin and end it.
func (t *Text) Part(begin, end bool) *Text { return &Text{t.m, t.vms, begin, end} }

// Match reports whether buf has a match.
func (t *Text) Match(buf []byte) bool {
	v := t.vms.Get().(*vm)
	defer t.vms.Put(v)
	_, _, ok := v.find(t.m, text{buf, t.begin, t.end}, 0, true)
	return ok
}

// Each calls yield for each match, preferred ones from the left as in package regexp,
// until yield returns false. It omits an empty match that touches the match before.
// stop, if not nil, is called every 64 KiB and reports whether to end.
func (t *Text) Each(buf []byte, stop func() bool, yield func(start, end int) bool) {
	v := t.vms.Get().(*vm)
	v.stop = stop
	v.each(t.m, text{buf, t.begin, t.end}, yield)
	v.stop = nil
	t.vms.Put(v)
}

// EmptyFirst reports whether buf begins with an empty match.
func (t *Text) EmptyFirst(buf []byte) bool {
	v := t.vms.Get().(*vm)
	v.anchored = true
	_, end, ok := v.find(t.m, text{buf, t.begin, t.end}, 0, false)
	v.anchored = false
	t.vms.Put(v)
	return ok && end == 0
}

// prefix returns the bytes that every match begins with, up to the first choice.
func (p *program) prefix() (all []byte) {
	for pc := p.start; ; {
		switch in := &p.insts[pc]; {
		case in.op == opJump:
			pc = in.out
		case in.op == opBytes && len(in.edges) == 1 && in.edges[0].lo == in.edges[0].hi:
			all = append(all, in.edges[0].lo)
			pc = in.edges[0].out
		default:
			return all
		}
	}
}
