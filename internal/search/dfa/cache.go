package dfa

import "slices"

// A state is the offset of its row in the table of transitions: its number times 256,
// so that the entry for a byte is at state|byte. An entry is the next state or, with
// the highest bit set, an event: the loop over the bytes must stop. The lowest byte is
// the kind of the event. The bits between are the state to which an unknown entry
// belongs.
const (
	event      = 1 << 31
	kindMask   = 0xff
	kindNew    = 0 // not computed yet
	kindMatch  = 1 // the line matches
	kindQuit   = 2 // the line must be decided by a slower matcher
	kindFar    = 3 // of the small table: the next state is only in the large one
	stateIdle  = 0 // never changes
	stateLine  = 1 << 8
	stateText  = 2 << 8 // the beginning of the text
	firstOther = 3
	eof        = 256 // in place of a byte: the text ends
)

// The first states, by far the most frequent ones, are also in a table of half the
// width. It needs no bounds checks and half of the first-level cache. Its entries are
// those of the large table, but the event's bit is the highest of 16.
const (
	smallEvent = 1 << 15
	smallLimit = smallEvent // of the states
	farEvent   = 64         // time to leave the small table, as the number of bytes read in that time
	maxFar     = 32 << 10   // lost time beyond which it is not used for a while
)

type smallTable [1 << 16]uint16

func narrow(v uint32) uint16 { return uint16(v) | uint16(v>>16)&smallEvent }
func widen(v uint16) uint32  { return uint32(v&^smallEvent) | uint32(v&smallEvent)<<16 }

// Bits of the first byte of a state's key. Four bytes for each instruction follow. With
// keyLoose they are the certain instructions, keyLimit, and the possible ones.
const (
	keyPrevWord  = 1 << iota // the byte before is a word character
	keyPrevHigh              // the byte before is not ASCII
	keyBeginLine             // there is no byte before in this line
	keyBeginText             // there is no byte before in the text
	keyPending               // some instruction waits for the next byte
	keyLoose                 // see cache.step

	keyLimit = ^uint32(0)
)

// cache is the part of the deterministic automaton built so far, with the data to build
// more. One goroutine uses it at a time.
type cache struct {
	m     *machine
	table []uint32
	small *smallTable
	far   int         // time lost by leaving small, in bytes; decreases again
	wide  bool        // small is not used
	ends  [][2]uint32 // entries for eof, by number of the state and end of the text
	keys  []string    // of the states, by number
	size  int         // of the keys in bytes
	ids   map[string]uint32

	set, to, loose, looseTo sparse // of instructions
	guess, spare            sparse
	stack, kept             []uint32
	key                     []byte

	steps   int // transitions computed since watch last reset it
	served  int // bytes read since then
	slow    int // bytes still to be decided by the slower matcher
	penalty int
	credit  int // of the filter, which is used while this is positive

	vm    vm
	bits  *bitset // nil: not needed so far, or not possible
	found [slots][][2]int
}

func newCache(m *machine) *cache {
	n := len(m.prog.insts)
	c := &cache{m: m, small: new(smallTable), penalty: slowBytes, steps: -freeSteps, credit: maxCredit}
	for _, s := range []*sparse{&c.set, &c.to, &c.loose, &c.looseTo, &c.guess, &c.spare} {
		*s = newSparse(n)
	}
	c.reset()
	return c
}

// reset removes all states except the fixed ones.
func (c *cache) reset() {
	c.table, c.keys, c.ids = append(c.table[:0], make([]uint32, 256)...), append(c.keys[:0], ""), map[string]uint32{}
	c.size, c.far, c.wide, c.ends = 0, 0, false, append(c.ends[:0], [2]uint32{})
	for i, begin := range []look{lookBeginLine, lookBeginLine | lookBeginText} {
		c.to.clear()
		c.closure(&c.to, c.m.prog.start, begin)
		c.encode(byte(keyBeginLine|i*keyBeginText), false)
		c.push(string(c.key))
	}
}

// push adds a row for the state with this key.
func (c *cache) push(key string) uint32 {
	id := uint32(len(c.keys)) << 8
	c.keys = append(c.keys, key)
	c.size += len(key)
	if _, ok := c.ids[key]; !ok && key != "" {
		c.ids[key] = id
	}
	n := len(c.table)
	c.table = slices.Grow(c.table, 256)[:n+256]
	c.ends = append(c.ends, [2]uint32{event | kindNew, event | kindNew})
	c.put(id, 0, 256, event|id|kindNew)
	return id
}

// put sets the entries of state s for the bytes from lo up to hi, excluding hi.
func (c *cache) put(s uint32, lo, hi int, v uint32) {
	row := c.table[s : s+256]
	for b := lo; b < hi; b++ {
		row[b] = v
	}
	if s >= smallLimit {
		return
	}
	small := narrow(v)
	if v&event == 0 && v >= smallLimit {
		small = narrow(event | s | kindFar)
	}
	for b := lo; b < hi; b++ {
		c.small[s|uint32(b)] = small
	}
}

// serve records that all cursors have read n bytes. The lost time decreases by an
// eighth of that. While small is not used it decreases so slowly that another try costs
// little.
func (c *cache) serve(n int) {
	c.served += n
	switch {
	case c.far <= 0:
	case !c.wide:
		c.far -= n / 8
	default:
		c.far -= n/32 + 1
		c.wide = c.far > 0
	}
}

// leave records that the small table was left for n bytes.
func (c *cache) leave(n int) {
	if c.far += farEvent + n; c.far > maxFar {
		c.wide = true
	}
}

// atEOF returns the entry of a state for the end of the buffer.
func (c *cache) atEOF(state uint32, end bool) uint32 {
	k := 0
	if end {
		k = 1
	}
	v := &c.ends[state>>8][k]
	if *v == event|kindNew {
		*v = c.step(state, eof, end, nil)
	}
	return *v
}

// fill sets an entry, for all bytes that no instruction distinguishes from b.
func (c *cache) fill(s uint32, b int, v uint32) uint32 {
	if b == eof {
		return v
	}
	lo, hi := b, b+1
	for !c.m.prog.starts[lo] {
		lo--
	}
	for !c.m.prog.starts[hi] {
		hi++
	}
	c.put(s, lo, hi, v)
	return v
}

// flush makes room. It retains the states in live, and updates live with their new
// numbers.
func (c *cache) flush(live []uint32) {
	var buf [cursors]string
	keys := buf[:0]
	for _, s := range live {
		keys = append(keys, c.keys[s&^event>>8])
	}
	c.reset()
	for i, s := range live {
		if old := s &^ event &^ kindMask; old >= firstOther<<8 {
			id, ok := c.ids[keys[i]]
			if !ok {
				id = c.push(keys[i])
			}
			live[i] = id | s&(event|kindMask)
		}
	}
}

// watch stops using the automaton for a while if it grows so fast that the slow matcher
// is faster. For example, [a-q][^u-z]{13}x has 2^13 states.
func (c *cache) watch() {
	if c.steps < watchSteps {
		return
	}
	if c.served < c.steps*stepWorth {
		c.slow, c.penalty = c.penalty, min(c.penalty*2, maxSlowBytes)
		if c.bits == nil {
			c.bits = c.bitsOf()
		}
	}
	c.steps, c.served = 0, 0
}

// match runs the automaton on one line.
func (c *cache) match(t text) bool {
	state := [1]uint32{stateLine}
	if t.begin {
		state[0] = stateText
	}
	for i := 0; i < len(t.line) && c.slow <= 0; i++ {
		v := c.table[state[0]|uint32(t.line[i])]
		if v&event != 0 && v&kindMask == kindNew {
			v = c.step(state[0], int(t.line[i]), false, state[:])
			c.watch()
		}
		if v&event != 0 {
			return v&kindMask == kindMatch || c.crawl(t)
		}
		state[0] = v
	}
	c.served += len(t.line)
	if c.slow > 0 {
		c.slow -= len(t.line)
		return c.crawl(t)
	}
	v := c.atEOF(state[0], t.end)
	return v&event != 0 && (v&kindMask == kindMatch || c.crawl(t))
}

// crawl decides a line by a slower matcher.
func (c *cache) crawl(t text) bool {
	if c.bits != nil {
		if matched, known := c.bits.match(t); known {
			return matched
		}
	}
	_, _, ok := c.vm.find(c.m, t, 0, true)
	return ok
}
