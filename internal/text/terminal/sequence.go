package terminal

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"mcp-toolset/internal/text/plain"
)

// token is a character of a line or an escape sequence.
type token struct {
	kind kind
	char rune // for show
	n    int  // for the other kinds
	size int  // in bytes
}

type kind int

const (
	nothing   kind = iota // not visible
	show                  // shows char
	toColumn              // moves to column n, from 0
	byColumns             // moves n columns to the right
	erase                 // erases; n as in screen.erase
)

// invalid represents a byte that is not UTF-8.
const invalid = -1

func (t token) append(dst []byte) []byte {
	if t.kind != show {
		return dst
	}
	return appendRune(dst, t.char)
}

func appendRune(dst []byte, r rune) []byte {
	switch {
	case r == invalid:
		return utf8.AppendRune(dst, utf8.RuneError)
	case misleads(r):
		return append(dst, plain.Text(string(r))...)
	}
	return utf8.AppendRune(dst, r)
}

// misleads reports whether a character changes the order in which others are shown, or is invisible
// text.
func misleads(r rune) bool {
	switch {
	case r < 0x61c:
		return false
	case r == 0x61c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return r >= 0xe0000 && r < 0xe0080
}

// isControl reports whether r is a control character of ASCII or Latin-1 other than tab.
func isControl(r rune) bool { return r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 }

// next returns the first token of a line, which must not be empty.
func next(line string) token {
	if c := line[0]; c >= ' ' && c < 0x7f || c == '\t' {
		return token{kind: show, char: rune(c), size: 1}
	}
	r, size := utf8.DecodeRuneInString(line)
	switch {
	case r == utf8.RuneError && size == 1:
		return token{kind: show, char: invalid, size: 1}
	case r == '\r':
		return token{kind: toColumn, size: 1}
	case r == '\b':
		return token{kind: byColumns, n: -1, size: 1}
	case r == esc || r >= 0x80 && r < 0xa0:
		t, _ := sequence(line)
		return t
	case r < ' ' || r == 0x7f:
		return token{size: size}
	}
	return token{kind: show, char: r, size: size}
}

const esc = 0x1b // the start of an escape sequence

// sequence returns the escape sequence at the start of s. A sequence without an end consists of its
// introducer only, so that it hides nothing. whole is false if more input could still complete it.
func sequence(s string) (t token, whole bool) {
	intro, n := utf8.DecodeRuneInString(s)
	if intro == esc {
		if n == len(s) {
			return token{size: n}, false
		}
		switch c := s[n]; {
		case c == '[':
			intro = 0x9b
		case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
			intro = 0x9d
		default: // intermediate bytes and a final byte
			for n < len(s) && s[n] >= 0x20 && s[n] < 0x30 {
				n++
			}
			if n == len(s) {
				return token{size: n}, false
			}
			if s[n] >= 0x30 && s[n] < 0x7f {
				n++
			}
			return token{size: n}, true
		}
		n++
	}
	switch intro {
	case 0x9b:
		return control(s, n)
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f:
		size, whole := command(s[n:])
		return token{size: n + size}, whole
	}
	return token{size: n}, true // another control character
}

// control returns the control sequence whose parameters begin at n.
func control(s string, n int) (t token, whole bool) {
	from := n
	for n < len(s) && s[n] >= 0x20 && s[n] < 0x40 {
		n++
	}
	if n == len(s) || s[n] < 0x40 || s[n] >= 0x7f {
		return token{size: from}, n < len(s)
	}
	t = token{size: n + 1}
	number, given := parameter(s[from:n])
	switch s[n] {
	case 'K':
		t.kind, t.n = erase, number
	case 'G':
		t.kind, t.n = toColumn, max(number, 1)-1
	case 'C':
		t.kind, t.n = byColumns, max(number, 1)
	case 'D':
		t.kind, t.n = byColumns, -max(number, 1)
	}
	if !given {
		t.kind, t.n = nothing, 0
	}
	return t, true
}

// parameter returns the only number of a control sequence, or 0 if there is none. ok is false if p
// contains anything else.
func parameter(p string) (n int, ok bool) {
	for _, c := range []byte(p) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(10*n+int(c-'0'), 1<<20)
	}
	return n, true
}

// command returns the length of a command string, such as a window title, including its terminator:
// a bell or a string terminator. The length is 0 without a terminator. whole is false if more input
// could still terminate it.
func command(s string) (size int, whole bool) {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\a', r == 0x9c:
			return i + n, true
		case r == esc && i+1 == len(s):
			return 0, false
		case r == esc && s[i+1] == '\\':
			return i + 2, true
		case isControl(r):
			return 0, true
		}
		i += n
	}
	return 0, false
}

// Complete returns a line that may continue, without an incomplete escape sequence or character at
// its end.
func Complete(line []byte) []byte {
	const longest = 4 << 10
	const most = 3 // a string terminator is a sequence within a sequence
	for range most {
		near := line[max(0, len(line)-longest):]
		i := bytes.LastIndexByte(near, esc)
		if i < 0 {
			break
		}
		if _, whole := sequence(string(near[i:])); whole {
			break
		}
		line = line[:len(line)-len(near)+i]
	}
	for n := 1; n < utf8.UTFMax && n <= len(line); n++ {
		end := line[len(line)-n:]
		if utf8.RuneStart(end[0]) {
			if !utf8.FullRune(end) {
				line = line[:len(line)-n]
			}
			break
		}
	}
	return slices.Clip(line)
}
