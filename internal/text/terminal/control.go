package terminal

import "fmt"

// escape interprets the character after an escape.
func (e *Emulator) escape(r rune) {
	e.state = nil
	switch r {
	case '[':
		e.state = (*Emulator).sequence
	case ']', 'P', 'X', '^', '_':
		e.state = func(*Emulator, rune) {} // a string, which an escape or a bell ends
	case '(':
		e.state = func(e *Emulator, set rune) { e.graphic[0], e.state = set == '0', nil }
	case ')':
		e.state = func(e *Emulator, set rune) { e.graphic[1], e.state = set == '0', nil }
	case '*', '+', '-', '.', '/', '#', '%', ' ':
		e.state = func(e *Emulator, _ rune) { e.state = nil }
	case '7':
		e.saved = e.position
	case '8':
		e.position = e.saved
	case 'D':
		e.down()
	case 'E':
		e.move(0, e.y)
		e.down()
	case 'M':
		if e.y == e.top {
			e.scroll(e.top, -1)
		} else {
			e.move(e.x, e.y-1)
		}
	case 'c':
		e.reset()
	}
}

// sequence interprets a character of a control sequence.
func (e *Emulator) sequence(r rune) {
	last := &e.params[len(e.params)-1]
	switch {
	case r >= '0' && r <= '9':
		*last = min(*last*10+int(r-'0'), maxNumber)
	case r == ';' || r == ':':
		if len(e.params) < maxParams {
			e.params = append(e.params, 0)
		}
	case r >= '<' && r <= '?':
		e.kind = r
	case r >= ' ' && r <= '/':
		e.middle = r
	default:
		e.state = nil
		e.execute(r)
	}
}

// param returns a parameter, or 1 if it is not given.
func (e *Emulator) param(i int) int {
	if i >= len(e.params) {
		return 1
	}
	return max(e.params[i], 1)
}

// execute executes a control sequence.
func (e *Emulator) execute(final rune) {
	switch {
	case e.middle == '!' && final == 'p':
		e.top, e.bottom, e.wraps, e.inserts, e.application, e.origin = 0, e.rows-1, true, false, false, false
	case e.middle != 0:
	case e.kind == '?' && (final == 'h' || final == 'l'):
		for _, mode := range e.params {
			e.set(mode, final == 'h')
		}
	case e.kind == '>' && final == 'c':
		e.answer([]byte("\x1b[>0;10;0c")) // a VT100
	case e.kind == 0:
		if !e.moves(final) {
			e.edits(final)
		}
	}
}

// set sets a private mode.
func (e *Emulator) set(mode int, on bool) {
	switch mode {
	case 1:
		e.application = on
	case 6:
		e.origin = on
		e.moveTo(1, 1)
	case 7:
		e.wraps = on
	case 47, 1047:
		e.swap(on)
	case 1048, 1049:
		if on {
			e.saved = e.position
		}
		if mode == 1049 {
			e.swap(on)
		}
		if !on {
			e.position = e.saved
		}
	}
}

// moves executes a sequence that moves the cursor or asks for an answer.
func (e *Emulator) moves(final rune) bool {
	n := e.param(0)
	switch final {
	case 'A':
		e.moveWithin(e.x, -n)
	case 'B', 'e':
		e.moveWithin(e.x, n)
	case 'C', 'a':
		e.move(e.x+n, e.y)
	case 'D':
		e.move(e.x-n, e.y)
	case 'E':
		e.moveWithin(0, n)
	case 'F':
		e.moveWithin(0, -n)
	case 'G', '`':
		e.move(n-1, e.y)
	case 'H', 'f':
		e.moveTo(e.param(1), n)
	case 'I':
		e.move((e.x/8+n)*8, e.y)
	case 'Z':
		e.move((e.x+7)/8*8-8*n, e.y)
	case 'd':
		e.moveTo(e.x+1, n)
	case 'r':
		top, bottom := n-1, e.rows-1
		if len(e.params) > 1 && e.params[1] > 0 {
			bottom = min(e.params[1], e.rows) - 1
		}
		if top < bottom {
			e.top, e.bottom = top, bottom
			e.moveTo(1, 1)
		}
	case 's':
		e.saved = e.position
	case 'u':
		e.position = e.saved
	case 'c':
		e.answer([]byte("\x1b[?6c")) // a VT102
	case 'n':
		switch y := e.y; n {
		case 5:
			e.answer([]byte("\x1b[0n"))
		case 6:
			if e.origin {
				y -= e.top
			}
			e.answer(fmt.Appendf(nil, "\x1b[%d;%dR", y+1, e.x+1))
		}
	default:
		return false
	}
	return true
}

// edits executes a sequence that changes the screen.
func (e *Emulator) edits(final rune) {
	n := e.param(0)
	switch final {
	case '@':
		e.insert(n)
	case 'P':
		e.remove(n)
	case 'X':
		e.erase(e.x, e.x+n)
	case 'b':
		for range min(n, e.cols) {
			if e.last != 0 {
				e.print(e.last)
			}
		}
	case 'J', 'K':
		e.clear(final == 'J')
	case 'L', 'M':
		if final == 'L' {
			n = -n
		}
		if e.y >= e.top && e.y <= e.bottom {
			e.scroll(e.y, n)
			e.move(0, e.y)
		}
	case 'S':
		e.scroll(e.top, n)
	case 'T':
		e.scroll(e.top, -n)
	case 'h', 'l':
		if n == 4 {
			e.inserts = final == 'h'
		}
	}
}

// clear erases the row or the screen: after the cursor, before it, or all.
func (e *Emulator) clear(screen bool) {
	what := e.params[0]
	from, to, rows := e.x, e.cols, e.lines[e.y+1:]
	switch what {
	case 0:
	case 1:
		from, to, rows = 0, e.x+1, e.lines[:e.y]
	case 2:
		from, rows = 0, e.lines
	default:
		return
	}
	e.erase(from, to)
	if screen {
		for _, line := range rows {
			fill(line)
		}
	}
}
