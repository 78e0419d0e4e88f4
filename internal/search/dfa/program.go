package dfa

// look is a set of facts about a position in a line.
type look uint8

const (
	lookBeginLine look = 1 << iota
	lookBeginText
	lookEndLine // before '\n', before the end, and before "\r" there
	lookEndText
	lookWord    // a word boundary
	lookNotWord // none
	lookLF      // before '\n' or the end, whatever lookEndLine says of "\r"
)

const (
	looksAhead = lookEndLine | lookEndText | lookWord | lookNotWord | lookLF // known with the next byte only
	looksWord  = lookWord | lookNotWord
)

type opcode uint8

const (
	opFail  opcode = iota
	opMatch        // the pattern has matched
	opBytes        // reads one byte; edges tell where to go on
	opJump         // goes on at out
	opSplit        // goes on at out, or, if that fails, at alt
	opLook         // goes on at out if the position is as look says
)

// edge leads from one byte of a range to an instruction.
type edge struct {
	lo, hi byte
	out    uint32
}

type inst struct {
	op       opcode
	look     look
	out, alt uint32
	edges    []edge // sorted, apart from each other
}

// next is where the instruction goes on after b.
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
	pcFirst // the first of the pattern's own
)

// program is a Thompson automaton over bytes (Thompson, "Regular expression
// search algorithm", 1968) in the form of Pike's virtual machine.
type program struct {
	insts []inst
	start uint32
	looks look // all that occur
	raw   bool // a match may begin inside a rune
	crlf  bool // lookEndLine holds before a "\r" that ends the line
	// newlines says that it is for a Text: its "line" may be many, and classes
	// may have '\n'.
	newlines bool
	// starts says where an interval of bytes begins that no instruction tells
	// apart; the next one ends it.
	starts [257]bool
}

// intervals finds the bytes that no instruction tells apart.
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
