// Package dfa finds the lines of a buffer that match a regular expression.
//
// The expression becomes a deterministic automaton over bytes, built lazily while it
// runs (Cox, "Regular Expression Matching in the Wild", 2010). A table lookup for each
// byte waits for the one before. But lines are independent of each other. So a buffer
// is divided into segments at newlines, and one loop advances four of them, which is
// three times as fast.
//
// The rules:
//   - A line ends at '\n', which is not part of it. The last line needs none, and no
//     line follows a final '\n'. A match lies within one line.
//   - OpBeginLine and OpEndLine match at the ends of a line, OpEndLine also before a
//     "\r" that ends it. OpBeginText and OpEndText match only at the ends of the text,
//     so not before its final '\n'. Note that syntax.Parse turns ^ and $ into these by
//     default.
//   - Runes are matched as UTF-8. Nothing matches an invalid byte. No class and no dot
//     matches '\n'. Letters fold as in unicode.SimpleFold.
//   - OpWordBoundary is Unicode's, see IsWord. If it depends on a byte of 0x80 or more,
//     a slower matcher may have to decide the line.
//   - Time is linear in the text, and memory is bounded. Expressions that are too large
//     are declined.
package dfa

import (
	"bytes"
	"errors"
	"fmt"
	"regexp/syntax"
	"sync"
)

const (
	maxInsts  = 1 << 16 // about 4 MB; \w{100} has 30,000
	maxEdges  = 1 << 19 // 4 MB
	textSize  = 16      // factor of these limits for a Text
	maxWeight = 1 << 16 // nodes of a tree with its repeats written out, each of which makes an instruction
	maxDepth  = 1000    // of a tree, as in package regexp/syntax, because walking one recurses

	maxStates = 8192    // a row of the table has 1 KB, so 8 MB per cache
	maxKeys   = 8 << 20 // bytes of the states' keys, which are long in large programs

	minSegment = 512      // below this size, starting a segment costs more than it saves
	maxSegment = 16 << 10 // four of them fit the second-level cache

	freeSteps    = 16 << 10 // transitions that may be built before the first check: about 10 ms
	watchSteps   = 2048     // transitions between checks
	stepWorth    = 16       // bytes that must be read per transition for the automaton to pay
	slowBytes    = 1 << 20  // bytes for which the automaton is not used the first time
	maxSlowBytes = 1 << 30  // limit of slowBytes after doubling
)

// ErrDeclined is wrapped by the error of New: the expression is valid, but too large. A
// Text may accept it.
var ErrDeclined = errors.New("dfa: expression declined")

// Options changes the meaning of an expression or how it is searched.
type Options struct {
	// LF treats "\r" as an ordinary byte: OpEndLine does not match before it.
	LF bool
	// Must lists texts. A match in every matching line contains at least one of them.
	// They make the search faster if they are rare. If Must is empty, none are known.
	Must []string
	// MustFold means that the texts may be in any case, as in unicode.SimpleFold.
	MustFold bool
}

// Finder finds the lines of a buffer that match. Positions are byte offsets in the
// buffer; buf[start:end] is a line without its '\n'.
type Finder interface {
	// Lines calls yield for each line that matches, in order, until yield returns
	// false.
	Lines(buf []byte, yield func(start, end int) bool)
	// Any reports whether a line matches.
	Any(buf []byte) bool
	// Count returns the number of lines that match.
	Count(buf []byte) int
	// Match reports whether a line, given without its '\n', matches.
	Match(line []byte) bool
	// Spans returns the matches in a line, as [FindAllIndex] of package regexp does:
	// preferred matches from the left, up to max of them, or all if max is negative. If
	// there are many matches, the time may be quadratic in the length of the line.
	Spans(line []byte, max int) [][2]int
}

// DFA is a compiled expression. It is safe for concurrent use: each call takes tables
// from a pool and returns them. So there are as many tables as there have been calls at
// one time, of up to about 20 MB each. Once these are built, calls do not allocate.
type DFA struct {
	m          *machine
	begin, end bool // the buffers begin and end the text
}

var _ Finder = (*DFA)(nil)

// machine holds what the parts of a DFA share.
type machine struct {
	prog       *program
	unanchored []uint32 // the instructions that a match can begin with inside a line
	first      [256]bool
	firstKnown bool   // a match begins with a byte in first, and does not look at the byte before
	prefix     []byte // every match begins with it, and does not look at the byte before
	all        bool   // every line matches
	textOnly   bool   // the first line of a text matches
	filter     filter
	maxStates  int

	mu   sync.Mutex
	idle []*cache
}

// New compiles a tree for searching line by line. It does not modify the tree. The
// error wraps ErrDeclined.
func New(re *syntax.Regexp, o Options) (*DFA, error) {
	if weight(re, maxWeight, 0) >= maxWeight {
		return nil, fmt.Errorf("%w: it has more than %d parts, or is nested deeper than %d", ErrDeclined, maxWeight, maxDepth)
	}
	c := newCompiler(!o.LF)
	prog, err := c.finish(c.tree(re.Simplify()))
	if err != nil {
		return nil, err
	}
	d := newDFA(prog)
	d.m.filter = newFilter(o.Must, o.MustFold, false)
	if !d.m.filter.usable() && d.m.firstKnown {
		d.m.filter = byteFilter(&d.m.first)
	}
	d.m.filter.restrict(prog)
	return d, nil
}

func newDFA(prog *program) *DFA {
	m := &machine{prog: prog, maxStates: maxStates}
	c := newCache(m)
	m.all = m.startMatches(c, lookBeginLine)
	m.textOnly = m.startMatches(c, lookBeginLine|lookBeginText)
	m.start(c)
	m.put(c)
	return &DFA{m: m, begin: true, end: true}
}

func (m *machine) startMatches(c *cache, have look) bool {
	c.to.clear()
	return c.closure(&c.to, m.prog.start, have)
}

// start determines what a match can begin with.
func (m *machine) start(c *cache) {
	c.to.clear()
	c.closure(&c.to, m.prog.start, 0)
	m.firstKnown = true
	for _, pc := range c.to.dense {
		switch in := &m.prog.insts[pc]; in.op {
		case opBytes:
			for _, e := range in.edges {
				for b := int(e.lo); b <= int(e.hi); b++ {
					m.first[b] = true
				}
			}
			m.unanchored = append(m.unanchored, pc)
		case opLook, opMatch:
			m.firstKnown = false
			if in.look&looksAhead != 0 {
				m.unanchored = append(m.unanchored, pc)
			}
		}
	}
}

func (m *machine) get() *cache {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.idle); n > 0 {
		c := m.idle[n-1]
		m.idle = m.idle[:n-1]
		return c
	}
	return newCache(m)
}

func (m *machine) put(c *cache) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idle = append(m.idle, c)
}

// Part returns a DFA with the same tables for buffers that are parts of a text. begin
// and end are whether they begin and end it. A part begins at the beginning of a line,
// and ends after a '\n' unless it ends the text. The DFA of New is for buffers that do
// both.
func (d *DFA) Part(begin, end bool) *DFA { return &DFA{d.m, begin, end} }

// Lines implements [Finder].
func (d *DFA) Lines(buf []byte, yield func(start, end int) bool) {
	d.search(scan{buf: buf, yield: yield})
}

// Any implements [Finder].
func (d *DFA) Any(buf []byte) bool { return d.search(scan{buf: buf, one: true}).count > 0 }

// Count implements [Finder].
func (d *DFA) Count(buf []byte) int { return d.search(scan{buf: buf}).count }

// search runs s.
func (d *DFA) search(s scan) scan {
	if d.m.all {
		s.everyLine()
		return s
	}
	if len(s.buf) == 0 {
		return s
	}
	s.c, s.begin, s.end = d.m.get(), d.begin, d.end
	defer d.m.put(s.c)
	from := 0
	if d.begin && d.m.textOnly {
		end := s.lineEnd(0)
		if !s.report(0, end) {
			return s
		}
		from = end + 1
	}
	if d.m.filter.usable() && s.c.credit > 0 {
		from = s.sift(from)
	}
	if from < len(s.buf) && !s.stopped {
		s.run(from)
		s.c.credit = min(s.c.credit+(len(s.buf)-from)/creditBack, maxCredit)
	}
	return s
}

func (s *scan) everyLine() {
	for start := 0; start < len(s.buf); {
		end := s.lineEnd(start)
		if !s.report(start, end) {
			return
		}
		start = end + 1
	}
}

// Match implements [Finder]. A line that contains '\n' does not match.
func (d *DFA) Match(line []byte) bool {
	if bytes.IndexByte(line, '\n') >= 0 {
		return false
	}
	c := d.m.get()
	defer d.m.put(c)
	return d.m.all || d.begin && d.m.textOnly || c.match(text{line, d.begin, d.end})
}

// Spans implements [Finder].
func (d *DFA) Spans(line []byte, max int) [][2]int {
	c := d.m.get()
	defer d.m.put(c)
	return c.vm.spans(d.m, text{line, d.begin, d.end}, max)
}
