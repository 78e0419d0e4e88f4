package notebook

import (
	"strings"
	"unicode/utf8"
)

// terminal returns text as a terminal would show it: without escape sequences, and with the effect
// of carriage returns and backspaces. Cursor movements to other lines are ignored.
func terminal(text string) string {
	if !strings.ContainsFunc(text, moves) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		line, newline := strings.CutSuffix(line, "\n")
		line = strings.TrimRight(line, "\r") // from CRLF
		if goesBack(line) {
			b.WriteString(overwritten(line))
		} else {
			writeStripped(&b, line)
		}
		if newline {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// moves reports whether a terminal does anything other than show r. This holds for the control
// characters of ASCII and Latin-1, except tab and newline.
func moves(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' || r >= 0x7f && r < 0xa0
}

// goesBack reports whether anything in a line changes the text before it.
func goesBack(line string) bool {
	if strings.ContainsAny(line, "\r\b") {
		return true
	}
	if !strings.ContainsRune(line, 'K') {
		return false
	}
	for {
		i := strings.IndexFunc(line, moves)
		if i < 0 {
			return false
		}
		_, size, erase := next(line[i:])
		if erase == '1' || erase == '2' {
			return true
		}
		line = line[i+size:]
	}
}

// overwritten returns a line as a terminal shows it.
func overwritten(line string) string {
	var s screen
	at := 0
	for len(line) > 0 {
		r, size, erase := next(line)
		line = line[size:]
		s.erase(at, erase)
		switch {
		case r == '\r':
			at = 0
		case r == '\b':
			at = max(at-1, 0)
		case moves(r):
		default:
			s.put(at, r)
			at++
		}
	}
	return strings.TrimRight(string(s.cells), " ") // blanks that remain from a longer text
}

// screen is a line of a terminal.
type screen struct {
	cells []rune
	blank int // number of leading cells known to be blank, which need not be erased again
}

// put writes r at an index of the line, which is at most its length.
func (s *screen) put(at int, r rune) {
	if at == len(s.cells) {
		s.cells = append(s.cells, r)
		return
	}
	s.cells[at] = r
	s.blank = min(s.blank, at)
}

// erase performs the sequence "erase in line": '0' erases to its end, '1' to its start, '2' all of
// it. Other values do nothing.
func (s *screen) erase(at int, what byte) {
	at = min(at, len(s.cells))
	if what == '1' || what == '2' {
		for ; s.blank < at; s.blank++ {
			s.cells[s.blank] = ' '
		}
	}
	if what == '0' || what == '2' {
		s.cells = s.cells[:at]
		s.blank = min(s.blank, at)
	}
}

// writeStripped writes the visible text of a line in which the cursor only moves forward.
// overwritten would do the same with four times the memory, which matters for large outputs.
func writeStripped(b *strings.Builder, line string) {
	for {
		i := strings.IndexFunc(line, moves)
		if i < 0 {
			b.WriteString(line)
			return
		}
		b.WriteString(line[:i])
		_, size, _ := next(line[i:])
		line = line[i+size:]
	}
}

// next returns the first character of a line, its length in bytes and the parameter with which it
// erases the line. If the character begins an escape sequence, the length is that of the sequence.
func next(line string) (r rune, size int, erase byte) {
	r, size = utf8.DecodeRuneInString(line)
	if r == esc || r >= 0x80 && moves(r) {
		size, erase = sequence(line)
	}
	return r, size, erase
}

const (
	esc = 0x1b // the start of an escape sequence
	csi = 0x9b // ESC [ as one character
	osc = 0x9d // ESC ] as one character
)

// sequence returns the length of the escape sequence at the start of s, and the parameter with
// which it erases the line. A sequence without an end consists of its introducer only, so that it
// hides nothing.
func sequence(s string) (size int, erase byte) {
	first, n := utf8.DecodeRuneInString(s)
	if first == esc {
		if n == len(s) {
			return n, 0
		}
		switch c := s[n]; {
		case c == '[':
			first = csi
		case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
			first = osc
		default: // intermediate bytes and a final byte
			for n < len(s) && s[n] >= 0x20 && s[n] < 0x30 {
				n++
			}
			if n < len(s) && s[n] >= 0x30 && s[n] < 0x7f {
				n++
			}
			return n, 0
		}
		n++
	}
	switch first {
	case csi:
		return control(s, n)
	case osc, 0x90, 0x98, 0x9e, 0x9f:
		return n + command(s[n:]), 0
	}
	return n, 0 // another control character
}

// control returns the length of a control sequence whose parameters begin at n.
func control(s string, n int) (size int, erase byte) {
	from := n
	for n < len(s) && s[n] >= 0x20 && s[n] < 0x40 {
		n++
	}
	if n == len(s) || s[n] < 0x40 || s[n] >= 0x7f {
		return from, 0
	}
	if s[n] == 'K' {
		if erase = '0'; n > from {
			erase = s[n-1]
		}
	}
	return n + 1, erase
}

// command returns the length of a command string, such as a window title, including its terminator:
// a bell or a string terminator. Without a terminator the length is 0.
func command(s string) int {
	for i, r := range s {
		switch {
		case r == '\a':
			return i + 1
		case r == 0x9c:
			return i + 2
		case r == esc && strings.HasPrefix(s[i+1:], "\\"):
			return i + 2
		case moves(r):
			return 0
		}
	}
	return 0
}
