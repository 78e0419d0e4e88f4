package dfa

import (
	"bytes"
	"unicode/utf8"
)

// stopStride is the number of bytes that the vm reads between calls of stop.
const stopStride = 64 << 10

// vm runs the program on one line with a list of threads in order of preference (Pike's
// virtual machine). It is exact where the automaton is not, and finds where a match
// begins. It is about 50 times slower.
type vm struct {
	cur, next threads
	stack     []uint32
	stop      func() bool // reports now and then whether to give up; nil: never
	anchored  bool        // find only a match at the start of the search
}

type threads struct {
	set   sparse
	begin []int // of each thread's match, by its index in set.dense
}

// text is a line, and whether it begins and ends the text.
type text struct {
	line       []byte
	begin, end bool
}

func (v *vm) init(p *program) {
	if v.cur.set.index == nil {
		v.cur.set, v.next.set = newSparse(len(p.insts)), newSparse(len(p.insts))
	}
}

// find returns the preferred one of the first matches at from or later. If any is set,
// only ok is valid: whether there is a match.
func (v *vm) find(m *machine, t text, from int, any bool) (begin, end int, ok bool) {
	v.init(m.prog)
	v.cur.clear()
	inside := from // no match begins before: the rest of a rune
	ask := from + stopStride
	for i := from; i <= len(t.line); i++ {
		if i >= ask && v.stop != nil {
			if v.stop() {
				return 0, 0, false
			}
			ask = i + stopStride
		}
		if len(v.cur.set.dense) == 0 {
			if ok || v.anchored && i > from {
				break
			}
			switch {
			case v.anchored:
			case len(m.prefix) > 0:
				k := bytes.Index(t.line[i:], m.prefix)
				if k < 0 {
					return 0, 0, false
				}
				i += k
			case m.firstKnown:
				for i < len(t.line) && !m.first[t.line[i]] {
					i++
				}
			}
			inside = max(inside, i)
		}
		if !ok && i >= inside && (!v.anchored || i == from) {
			v.add(m.prog, &v.cur, m.prog.start, i, t.looks(m.prog, i))
			if i < len(t.line) && t.line[i] >= 0x80 && !m.prog.raw {
				_, n := utf8.DecodeRune(t.line[i:])
				inside = i + n
			}
		}
		v.next.clear()
		have, known := look(0), false
		for k, pc := range v.cur.set.dense {
			in := &m.prog.insts[pc]
			if in.op == opMatch {
				begin, end, ok = v.cur.begin[k], i, true
				break
			}
			if in.op != opBytes || i == len(t.line) {
				continue
			}
			if out, hit := in.next(t.line[i]); hit {
				if !known {
					have, known = t.looks(m.prog, i+1), true
				}
				v.add(m.prog, &v.next, out, v.cur.begin[k], have)
			}
		}
		if ok && any {
			break
		}
		v.cur, v.next = v.next, v.cur
	}
	return begin, end, ok
}

func (l *threads) clear() { l.set.clear(); l.begin = l.begin[:0] }

// add appends the threads that start at pc, preferred ones first.
func (v *vm) add(p *program, to *threads, pc uint32, begin int, have look) {
	v.stack = append(v.stack[:0], pc)
	for len(v.stack) > 0 {
		pc := v.stack[len(v.stack)-1]
		v.stack = v.stack[:len(v.stack)-1]
		if !to.set.add(pc) {
			continue
		}
		to.begin = append(to.begin, begin)
		switch in := &p.insts[pc]; in.op {
		case opJump:
			v.stack = append(v.stack, in.out)
		case opSplit:
			v.stack = append(v.stack, in.alt, in.out)
		case opLook:
			if in.look&have != 0 {
				v.stack = append(v.stack, in.out)
			}
		}
	}
}

// looks returns the conditions at position i of the line that the program uses. An
// invalid byte is not a word character, and beside one lookNotWord does not hold, as in
// ripgrep.
func (t text) looks(p *program, i int) look {
	if p.looks == 0 {
		return 0
	}
	have := look(0)
	if i == 0 || p.newlines && t.line[i-1] == '\n' {
		have |= lookBeginLine
	}
	if i == 0 && t.begin {
		have |= lookBeginText
	}
	if i == len(t.line) && t.end {
		have |= lookEndText
	}
	switch {
	case t.endsLine(p, i):
		have |= lookEndLine | lookLF
	case p.crlf && t.line[i] == '\r' && t.endsLine(p, i+1):
		have |= lookEndLine
	}
	if p.looks&looksWord != 0 {
		before, n := utf8.DecodeLastRune(t.line[:i])
		after, k := utf8.DecodeRune(t.line[i:])
		valid := !(before == utf8.RuneError && n == 1) && !(after == utf8.RuneError && k == 1)
		if (n > 0 && IsWord(before)) != (k > 0 && IsWord(after)) {
			have |= lookWord
		} else if valid {
			have |= lookNotWord
		}
	}
	return have
}

// endsLine reports whether a line ends at position i.
func (t text) endsLine(p *program, i int) bool {
	return i == len(t.line) || p.newlines && t.line[i] == '\n'
}

// each calls yield for the matches in a line that do not overlap, until yield returns
// false. As in package regexp, it omits an empty match that touches the match before.
func (v *vm) each(m *machine, t text, yield func(begin, end int) bool) {
	for from, last := 0, -1; from <= len(t.line); {
		begin, end, ok := v.find(m, t, from, false)
		if !ok || (end > begin || begin != last) && !yield(begin, end) {
			return
		}
		last, from = end, end
		if end == begin {
			_, n := utf8.DecodeRune(t.line[end:])
			from += n
			if n == 0 {
				return
			}
		}
	}
}

// spans returns the matches in a line, up to max of them.
func (v *vm) spans(m *machine, t text, max int) (out [][2]int) {
	if max == 0 {
		return nil
	}
	v.each(m, t, func(begin, end int) bool {
		out = append(out, [2]int{begin, end})
		return len(out) != max
	})
	return out
}
