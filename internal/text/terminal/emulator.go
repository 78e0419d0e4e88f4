package terminal

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Limits of the parameters of a sequence. They bound the time that it takes.
const (
	maxNumber = 9999
	maxParams = 16
)

// Emulator is the screen of a terminal of the kind xterm, as text: it has no colors and no
// lines that have scrolled off. Its memory does not depend on what is written. Combining
// characters are not shown. It is safe for concurrent use.
//
// The emulators charmbracelet/x/vt 0.1.0 and hinshun/vt10x loop for ever on sequences such as
// "\x1b[99999999999I", and x/vt stores whole hyperlinks and clusters for each cell.
type Emulator struct {
	mu         sync.Mutex
	cols, rows int
	answer     func([]byte)
	broken     bool // a write panicked

	lines, other [][]rune // the screen shown, and the hidden one of main and alternate screen
	alternate    bool     // whether lines is the alternate screen
	position
	saved       position
	top, bottom int  // rows that scroll, both included
	wraps       bool // long lines go on in the next row
	inserts     bool // characters move those after them
	application bool // cursor keys are those of applications
	last        rune // last character

	state  func(*Emulator, rune) // of the parser; nil: text
	part   []byte                // beginning of a character
	kind   rune                  // prefix of a control sequence, such as '?'; 0: none
	middle rune                  // its intermediate character; 0: none
	params []int
}

// position is what a program can save and restore.
type position struct {
	x, y    int
	pending bool    // the next character begins a new row
	origin  bool    // rows count from top
	graphic [2]bool // whether G0 and G1 draw lines
	shift   int     // G0 or G1
}

// Cells without a character of their own.
const (
	blank = ' '
	half  = -1 // the second half of a wide character
)

// NewEmulator returns an empty screen. answer is called by Write with the answers to queries of
// the program; it must not block or call the Emulator.
func NewEmulator(cols, rows int, answer func([]byte)) *Emulator {
	e := &Emulator{cols: cols, rows: rows, answer: answer}
	for range rows {
		e.lines = append(e.lines, make([]rune, cols))
		e.other = append(e.other, make([]rune, cols))
	}
	e.reset()
	return e
}

func (e *Emulator) reset() {
	for y := range e.rows {
		fill(e.lines[y])
		fill(e.other[y])
	}
	e.alternate = false
	e.position, e.saved = position{}, position{}
	e.top, e.bottom, e.wraps, e.inserts, e.application, e.last = 0, e.rows-1, true, false, false, 0
}

// Size returns the number of columns and rows.
func (e *Emulator) Size() (cols, rows int) { return e.cols, e.rows }

// Text returns the screen without the blanks at the ends of lines and of the screen, and the
// position of the cursor, from 1. ok is false if the screen is not known.
func (e *Emulator) Text() (text string, row, col int, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b []byte
	for _, line := range e.lines {
		for _, r := range line {
			if r != half {
				b = appendRune(b, r)
			}
		}
		b = append([]byte(strings.TrimRight(string(b), " ")), '\n')
	}
	return strings.TrimRight(string(b), "\n"), e.y + 1, e.x + 1, !e.broken
}

// Write shows output of a program. It never fails.
func (e *Emulator) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer func() {
		if recover() != nil { // the output must not end the server
			e.broken = true
		}
	}()
	if e.broken {
		return len(p), nil
	}
	rest := p
	if len(e.part) > 0 {
		rest = append(e.part, p...)
	}
	for len(rest) > 0 && utf8.FullRune(rest) {
		r, n := utf8.DecodeRune(rest)
		rest = rest[n:]
		e.put(r)
	}
	e.part = slices.Clone(rest)
	return len(p), nil
}

// put interprets one character.
func (e *Emulator) put(r rune) {
	const can, sub, esc = 0x18, 0x1a, 0x1b
	switch {
	case r == esc:
		e.state, e.kind, e.middle, e.params = (*Emulator).escape, 0, 0, append(e.params[:0], 0)
	case r == can || r == sub:
		e.state = nil
	case r < ' ':
		e.control(r)
	case r >= 0x7f && r < 0xa0:
	case e.state != nil:
		e.state(e, r)
	default:
		e.print(r)
	}
}

// control executes a control character.
func (e *Emulator) control(r rune) {
	switch r {
	case '\a':
		e.state = nil // it ends a string
	case '\b':
		e.move(e.x-1, e.y)
	case '\t':
		e.move((e.x/8+1)*8, e.y)
	case '\n', '\v', '\f':
		e.down()
	case '\r':
		e.move(0, e.y)
	case 0x0e, 0x0f:
		e.shift = int(0x0f - r)
	}
}

// drawings are the characters '`' to '~' of the set that draws lines.
var drawings = []rune("◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")

// print shows a character.
func (e *Emulator) print(r rune) {
	if r >= 0x300 && unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Zl, unicode.Zp) {
		return
	}
	if e.graphic[e.shift] && r >= '`' && r <= '~' {
		r = drawings[r-'`']
	}
	e.last = r
	size := 1
	if isWide(r) && e.cols > 1 {
		size = 2
	}
	if e.wraps && (e.pending || e.x+size > e.cols) {
		e.x = 0
		e.down()
	}
	e.x = min(e.x, e.cols-size)
	if e.inserts {
		e.insert(size)
	}
	line := e.lines[e.y]
	e.split(e.x)
	e.split(e.x + size)
	line[e.x] = r
	if size == 2 {
		line[e.x+1] = half
	}
	e.x += size
	if e.pending = e.x >= e.cols; e.pending {
		e.x = e.cols - 1
	}
}

// isWide reports whether a character takes two columns.
func isWide(r rune) bool {
	if r < 0x1100 {
		return false
	}
	k := width.LookupRune(r).Kind()
	return k == width.EastAsianWide || k == width.EastAsianFullwidth
}

// split removes a wide character of which only one half is before a column.
func (e *Emulator) split(x int) {
	if line := e.lines[e.y]; x > 0 && x < e.cols && line[x] == half {
		line[x-1], line[x] = blank, blank
	}
}

// move moves the cursor, within the screen.
func (e *Emulator) move(x, y int) {
	e.x, e.y, e.pending = min(max(x, 0), e.cols-1), min(max(y, 0), e.rows-1), false
}

// moveWithin moves the cursor by rows, not out of the rows that scroll if it is among them.
func (e *Emulator) moveWithin(x, by int) {
	low, high := 0, e.rows-1
	if e.y >= e.top {
		low = e.top
	}
	if e.y <= e.bottom {
		high = e.bottom
	}
	e.move(x, min(max(e.y+by, low), high))
}

// moveTo moves the cursor to a position that a program gives, from 1.
func (e *Emulator) moveTo(x, y int) {
	if e.origin {
		y = min(y+e.top, e.bottom+1)
	}
	e.move(x-1, y-1)
}

// down moves the cursor to the next row, and scrolls at the end of those that scroll.
func (e *Emulator) down() {
	if e.y == e.bottom {
		e.scroll(e.top, 1)
	}
	if y := e.y + 1; e.y != e.bottom {
		e.move(e.x, y)
	}
	e.pending = false
}

// scroll moves the rows from a row to the bottom up by n, or down if n is negative.
func (e *Emulator) scroll(from, n int) {
	area := e.lines[from : e.bottom+1]
	last := len(area) - 1
	for range min(max(n, -n), len(area)) {
		if line := area[last]; n < 0 {
			copy(area[1:], area)
			area[0] = line
			fill(line)
		} else {
			line = area[0]
			copy(area, area[1:])
			area[last] = line
			fill(line)
		}
	}
}

func fill(line []rune) {
	for i := range line {
		line[i] = blank
	}
}

// insert moves the rest of the row by n columns.
func (e *Emulator) insert(n int) {
	e.split(e.x)
	rest := e.lines[e.y][e.x:]
	n = min(n, len(rest))
	copy(rest[n:], rest)
	fill(rest[:n])
	if last := len(rest) - 1; isWide(rest[last]) {
		rest[last] = blank
	}
}

// remove removes n characters of the row.
func (e *Emulator) remove(n int) {
	rest := e.lines[e.y][e.x:]
	n = min(n, len(rest))
	e.split(e.x)
	e.split(e.x + n)
	copy(rest, rest[n:])
	fill(rest[len(rest)-n:])
}

// erase makes the columns of the row blank, from one to before another.
func (e *Emulator) erase(from, to int) {
	e.split(from)
	e.split(to)
	fill(e.lines[e.y][from:min(to, e.cols)])
}

// swap shows the main or the alternate screen.
func (e *Emulator) swap(alternate bool) {
	if alternate == e.alternate {
		return
	}
	e.lines, e.other, e.alternate = e.other, e.lines, alternate
	if alternate {
		for _, line := range e.lines {
			fill(line)
		}
	}
}
