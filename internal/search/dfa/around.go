package dfa

// around holds the bytes that can be next to a byte of a match.
type around struct{ before, after *[256]bool } // nil: any byte may be

// around returns those for the bytes in set, at any place in a match: a byte of before
// comes before each, and one of after comes after it. If a match may begin or end with
// a byte of set, any byte may be there.
func (p *program) around(set *[256]bool) (a around) {
	used := p.reach([]uint32{p.start}, true)
	var own, behind []uint32 // instructions that read a byte of set, and those that follow
	for pc, ok := range used {
		if !ok {
			continue
		}
		for _, e := range p.insts[pc].edges {
			if e.has(set) {
				own, behind = append(own, uint32(pc)), append(behind, e.out)
			}
		}
	}
	if next := p.reach(behind, false); !next[pcMatch] {
		a.after = new([256]bool)
		for pc, ok := range next {
			if ok {
				mark(a.after, p.insts[pc].edges...)
			}
		}
	}
	if to := p.leading(own); !to[p.start] {
		a.before = new([256]bool)
		for pc, ok := range used {
			if !ok {
				continue
			}
			for _, e := range p.insts[pc].edges {
				if to[e.out] {
					mark(a.before, e)
				}
			}
		}
	}
	return a
}

// reach returns the instructions that are in from or can follow them: without reading a
// byte or, if reading is set, after reading any number of bytes.
func (p *program) reach(from []uint32, reading bool) []bool {
	there := make([]bool, len(p.insts))
	for len(from) > 0 {
		pc := from[len(from)-1]
		if from = from[:len(from)-1]; there[pc] {
			continue
		}
		there[pc] = true
		from = append(from, p.insts[pc].onward()...)
		if reading {
			for _, e := range p.insts[pc].edges {
				from = append(from, e.out)
			}
		}
	}
	return there
}

// leading returns the instructions that are in to or lead there without reading a byte.
func (p *program) leading(to []uint32) []bool {
	back := make([][]uint32, len(p.insts))
	for pc := range p.insts {
		for _, out := range p.insts[pc].onward() {
			back[out] = append(back[out], uint32(pc))
		}
	}
	there := make([]bool, len(p.insts))
	for len(to) > 0 {
		pc := to[len(to)-1]
		if to = to[:len(to)-1]; !there[pc] {
			there[pc] = true
			to = append(to, back[pc]...)
		}
	}
	return there
}

// onward returns the instructions that may follow without reading a byte.
func (in *inst) onward() []uint32 {
	switch in.op {
	case opSplit:
		return []uint32{in.out, in.alt}
	case opJump, opLook:
		return []uint32{in.out}
	}
	return nil
}

// has reports whether the edge reads a byte of set.
func (e edge) has(set *[256]bool) bool {
	for b := int(e.lo); b <= int(e.hi); b++ {
		if set[b] {
			return true
		}
	}
	return false
}

// mark adds the bytes that edges read to set.
func mark(set *[256]bool, edges ...edge) {
	for _, e := range edges {
		for b := int(e.lo); b <= int(e.hi); b++ {
			set[b] = true
		}
	}
}

// allows reports whether the bytes next to buf[i] are allowed.
func (a *around) allows(buf []byte, i int) bool {
	return (a.before == nil || i > 0 && a.before[buf[i-1]]) && (a.after == nil || i+1 < len(buf) && a.after[buf[i+1]])
}
