package dfa

// look is a set of conditions at a position in a line.
type look uint8

const (
	lookBeginLine look = 1 << iota
	lookBeginText
	lookEndLine // before '\n', before the end, and before "\r" followed by these
	lookEndText
	lookWord    // at a word boundary
	lookNotWord // not at a word boundary
	lookLF      // before '\n' or the end, but not before "\r"
)

const (
	looksAhead = lookEndLine | lookEndText | lookWord | lookNotWord | lookLF // known only with the next byte
	looksWord  = lookWord | lookNotWord
)

type opcode uint8

const (
	opFail  opcode = iota
	opMatch        // the pattern has matched
	opBytes        // reads one byte; edges give the next instruction
	opJump         // continues at out
	opSplit        // continues at out or, if that fails, at alt
	opLook         // continues at out if look holds at the position
)

// edge leads from the bytes of a range to an instruction.
type edge struct {
	lo, hi byte
	out    uint32
}

type inst struct {
	op       opcode
	look     look
	out, alt uint32
	edges    []edge // sorted, not overlapping
}

// next returns the instruction that follows after reading b.
func (in *inst) next(b byte) (uint32, bool) {
	edges := in.edges
	for len(edges) > 8 {
		if mid := len(edges) / 2; edges[mid].lo <= b {
			edges = edges[mid:]
		} else {
			edges = edges[:mid]
		}
	}
	for i := range edges {
		if b <= edges[i].hi {
			return edges[i].out, b >= edges[i].lo
		}
	}
	return 0, false
}

// The first instructions of every program.
const (
	pcFail  = iota
	pcMatch // opMatch
	pcLF    // matches before '\n' and the end
	pcEnd   // matches at the end of the text
	pcFirst // the first instruction of the pattern
)

// program is a Thompson automaton over bytes (Thompson, "Regular expression search
// algorithm", 1968) in the form of Pike's virtual machine.
type program struct {
	insts []inst
	start uint32
	looks look // all that occur
	raw   bool // a match may begin inside a rune
	crlf  bool // lookEndLine holds before a "\r" that ends the line
	// newlines means that the program is for a Text: its "line" may be several lines,
	// and classes may contain '\n'.
	newlines bool
	// starts marks where an interval of bytes begins that no instruction distinguishes.
	// The next mark ends it.
	starts [257]bool
}

// intervals finds the bytes that no instruction distinguishes.
func (p *program) intervals() {
	cut := func(lo, hi byte) { p.starts[lo], p.starts[int(hi)+1] = true, true }
	cut(0, 255)
	cut('\n', '\n')
	for _, in := range p.insts[pcFirst:] {
		p.looks |= in.look
		for _, e := range in.edges {
			cut(e.lo, e.hi)
		}
	}
	if p.looks&lookEndLine != 0 {
		cut('\r', '\r')
	}
	if p.looks&looksWord != 0 {
		cut('0', '9')
		cut('A', 'Z')
		cut('_', '_')
		cut('a', 'z')
		cut(0x80, 0xff)
	}
}
