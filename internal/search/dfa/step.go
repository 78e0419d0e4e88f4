package dfa

import (
	"encoding/binary"
	"slices"
)

// closure adds to set all instructions reached from pc without reading. It passes the
// looks in have; those that need the next byte stay in the set. It reports whether the
// match is reached.
func (c *cache) closure(set *sparse, pc uint32, have look) (matched bool) {
	c.stack = append(c.stack[:0], pc)
	for len(c.stack) > 0 {
		pc := c.stack[len(c.stack)-1]
		c.stack = c.stack[:len(c.stack)-1]
		if !set.add(pc) {
			continue
		}
		switch in := &c.m.prog.insts[pc]; in.op {
		case opMatch:
			matched = true
		case opJump:
			c.stack = append(c.stack, in.out)
		case opSplit:
			c.stack = append(c.stack, in.alt, in.out)
		case opLook:
			if in.look&have != 0 {
				c.stack = append(c.stack, in.out)
			}
		}
	}
	return matched
}

// resolve continues from the instructions of set that wait for a look in have. It
// reports whether the match is reached.
func (c *cache) resolve(set *sparse, have look) (matched bool) {
	for i := 0; i < len(set.dense); i++ {
		if in := &c.m.prog.insts[set.dense[i]]; in.op == opLook && in.look&have&looksAhead != 0 {
			matched = c.closure(set, in.out, have) || matched
		}
	}
	return matched
}

// move adds to the set "to" the instructions that from leads to with byte b.
func (c *cache) move(from, to *sparse, b byte) (matched bool) {
	for _, pc := range from.dense {
		if in := &c.m.prog.insts[pc]; in.op == opBytes {
			if out, ok := in.next(b); ok {
				matched = c.closure(to, out, 0) || matched
			}
		}
	}
	return matched
}

// advance makes "to" the set that set leads to with byte b, before which the looks in
// have hold. It reports whether there is a match before or after that byte.
func (c *cache) advance(set, to *sparse, pending bool, b int, have look) (matched bool) {
	to.clear()
	if pending && c.resolve(set, have) {
		return true
	}
	if b == '\n' || b == eof {
		return false
	}
	p := c.m.prog
	matched = c.move(set, to, byte(b))
	if b == '\r' && p.crlf && pending && p.looks&lookEndLine != 0 {
		c.beforeReturn(set, to, have)
	}
	for _, pc := range c.m.unanchored {
		to.add(pc)
	}
	return matched
}

// beforeReturn looks two bytes ahead, where one is not sufficient: before a "\r" the
// line ends if a '\n' or the end follows it. If that leads to a match, the set "to"
// gets an instruction that matches there.
func (c *cache) beforeReturn(set, to *sparse, have look) {
	c.guess.copy(set)
	if c.resolve(&c.guess, have|lookEndLine) {
		to.add(pcLF)
		return
	}
	c.spare.clear()
	if c.move(&c.guess, &c.spare, '\r') {
		to.add(pcLF)
		return
	}
	lf, _ := c.facts(0, '\n', false)
	end, _ := c.facts(0, eof, true)
	if c.resolve(&c.spare, lf) {
		to.add(pcLF)
	} else if c.resolve(&c.spare, end) {
		to.add(pcEnd)
	}
}

// step computes the entry of state s for a byte, or for eof, where end is whether the
// text ends there and not only the buffer. The states in live remain valid, but their
// numbers may change. s must be among them.
//
// A word boundary beside a byte of 0x80 or more depends on more than that byte. The
// automaton then continues with two sets of instructions: one in which the assertion
// never holds, and one in which it always holds. If only the second one matches, a
// slower matcher must decide the line.
func (c *cache) step(s uint32, b int, end bool, live []uint32) uint32 {
	if b != eof {
		c.steps++
	}
	flags := c.decode(c.keys[s>>8])
	sure, possible := c.facts(flags, b, end)
	pending, loose := flags&keyPending != 0, flags&keyLoose != 0
	if !loose && pending && sure != possible {
		c.loose.copy(&c.set)
		loose = true
	}
	if c.advance(&c.set, &c.to, pending, b, sure) {
		return c.fill(s, b, event|kindMatch)
	}
	if loose && c.advance(&c.loose, &c.looseTo, pending, b, possible) {
		return c.fill(s, b, event|kindQuit)
	}
	switch b {
	case '\n':
		return c.fill(s, b, stateLine)
	case eof:
		return stateIdle
	}
	c.encode(c.flagsAfter(byte(b)), loose)
	id, ok := c.ids[string(c.key)]
	if !ok {
		key := string(c.key) // flush uses c.key
		if len(c.keys) >= c.m.maxStates || c.size >= maxKeys {
			at := slices.IndexFunc(live, func(l uint32) bool { return l&^event&^kindMask == s })
			c.flush(live)
			s = live[at] &^ event &^ kindMask
		}
		id = c.push(key)
	}
	return c.fill(s, b, id)
}

// flagsAfter returns the flags of a state reached by byte b.
func (c *cache) flagsAfter(b byte) byte {
	switch {
	case c.m.prog.looks&looksWord == 0:
	case b >= 0x80:
		return keyPrevHigh
	case isWordByte(b):
		return keyPrevWord
	}
	return 0
}

// facts returns the looks that certainly hold before byte b in a state with these
// flags, and those that may hold.
func (c *cache) facts(flags byte, b int, end bool) (sure, possible look) {
	if flags&keyBeginLine != 0 {
		sure |= lookBeginLine
	}
	if flags&keyBeginText != 0 {
		sure |= lookBeginText
	}
	if b == '\n' || b == eof {
		sure |= lookEndLine | lookLF
	}
	if b == eof && end {
		sure |= lookEndText
	}
	switch {
	case c.m.prog.looks&looksWord == 0:
	case flags&keyPrevHigh != 0 || b >= 0x80 && b != eof:
		return sure, sure | looksWord
	case (flags&keyPrevWord != 0) != (b < 0x80 && isWordByte(byte(b))):
		sure |= lookWord
	default:
		sure |= lookNotWord
	}
	return sure, sure
}

// encode makes the key of the state of c.to and, if loose, c.looseTo.
func (c *cache) encode(flags byte, loose bool) {
	c.key = c.appendKey(append(c.key[:0], 0), &c.to, &flags)
	if loose {
		n := len(c.key)
		c.key = binary.LittleEndian.AppendUint32(c.key, keyLimit)
		c.key = c.appendKey(c.key, &c.looseTo, &flags)
		if string(c.key[1:n]) == string(c.key[n+4:]) {
			c.key = c.key[:n]
		} else {
			c.key[0] = keyLoose
		}
	}
	if flags&keyPending != 0 {
		c.key[0] |= flags
	}
}

// appendKey appends the relevant instructions of a set, sorted.
func (c *cache) appendKey(key []byte, set *sparse, flags *byte) []byte {
	c.kept = c.kept[:0]
	for _, pc := range set.dense {
		switch in := &c.m.prog.insts[pc]; {
		case in.op == opBytes:
			c.kept = append(c.kept, pc)
		case in.op == opLook && in.look&looksAhead != 0:
			c.kept = append(c.kept, pc)
			*flags |= keyPending
		}
	}
	slices.Sort(c.kept)
	for _, pc := range c.kept {
		key = binary.LittleEndian.AppendUint32(key, pc)
	}
	return key
}

// decode reverses encode, into c.set and c.loose.
func (c *cache) decode(key string) (flags byte) {
	c.set.clear()
	c.loose.clear()
	set := &c.set
	for i := 1; i < len(key); i += 4 {
		v := uint32(key[i]) | uint32(key[i+1])<<8 | uint32(key[i+2])<<16 | uint32(key[i+3])<<24
		if v == keyLimit {
			set = &c.loose
			continue
		}
		set.add(v)
	}
	return key[0]
}
