package dfa

const maxBits = 256 // limit of positions: 256 KB of tables

// bitset decides ASCII lines by a nondeterministic automaton whose set of states is a
// few machine words, with one bit for each position at which a byte is read
// (Glushkov's; Navarro and Raffinot, "Flexible Pattern Matching in Strings", 2002). It
// is for expressions whose deterministic automaton is too large. It is about ten times
// slower than that, but its speed does not depend on the text.
type bitset struct {
	words  int
	start  []uint64 // positions at which a match can begin
	first  []uint64 // the same at the beginning of a line
	text   []uint64 // the same at the beginning of the text
	last   []uint64 // positions at which a match can end
	reach  []uint64 // by byte: the positions that read it
	follow []uint64 // by eight positions and their values: the positions that follow
}

// bitsOf makes the tables. It returns nil if there are too many positions, or
// assertions that need the next byte.
func (c *cache) bitsOf() *bitset {
	p := c.m.prog
	if p.looks&looksAhead != 0 {
		return nil
	}
	type position struct{ pc, out uint32 }
	var list []position
	of := map[uint32][]int{} // the positions of an instruction
	for pc := range p.insts {
		for _, e := range p.insts[pc].edges {
			v := position{uint32(pc), e.out}
			if n := len(list); e.lo < 0x80 && (n == 0 || list[n-1] != v) {
				list = append(list, v)
				of[v.pc] = append(of[v.pc], n)
			}
		}
	}
	if len(list) > maxBits {
		return nil
	}
	w := (len(list) + 63) / 64
	b := &bitset{words: w, last: make([]uint64, w), reach: make([]uint64, 128*w), follow: make([]uint64, 8*256*w*w)}
	// closure returns the set of positions that pc leads to.
	closure := func(pc uint32, have look) (set []uint64, matched bool) {
		set = make([]uint64, w)
		c.to.clear()
		matched = c.closure(&c.to, pc, have)
		for _, pc := range c.to.dense {
			for _, i := range of[pc] {
				set[i/64] |= 1 << (i % 64)
			}
		}
		return set, matched
	}
	b.start, _ = closure(p.start, 0)
	b.first, _ = closure(p.start, lookBeginLine)
	b.text, _ = closure(p.start, lookBeginLine|lookBeginText)
	for i, pos := range list {
		for _, e := range p.insts[pos.pc].edges {
			for v := int(e.lo); v <= int(e.hi) && v < 0x80 && e.out == pos.out; v++ {
				b.reach[v*w+i/64] |= 1 << (i % 64)
			}
		}
		set, matched := closure(pos.out, 0)
		if matched {
			b.last[i/64] |= 1 << (i % 64)
		}
		for v := range 256 {
			if v>>(i%8)&1 != 0 {
				row := b.follow[(i/8*256+v)*w:][:w]
				for k := range row {
					row[k] |= set[k]
				}
			}
		}
	}
	return b
}

// match reports whether a line matches. known is false if the line is not ASCII.
func (b *bitset) match(t text) (matched, known bool) {
	var buf, nextBuf [maxBits / 64]uint64
	set, next := buf[:b.words], nextBuf[:b.words]
	copy(set, b.first)
	if t.begin {
		copy(set, b.text)
	}
	for _, v := range t.line {
		if v >= 0x80 {
			return false, false
		}
		copy(next, b.start)
		reach := b.reach[int(v)*b.words:][:len(set)]
		for k, s := range set {
			if s &= reach[k]; s&b.last[k] != 0 {
				return true, true
			}
			for chunk := k * 8; s != 0; chunk, s = chunk+1, s>>8 {
				if s&0xff == 0 {
					continue
				}
				row := b.follow[(chunk*256+int(s&0xff))*len(next):][:len(next)]
				for i, f := range row {
					next[i] |= f
				}
			}
		}
		set, next = next, set
	}
	return false, true
}
