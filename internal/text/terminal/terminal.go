// Package terminal converts output to the text that a terminal would show.
//
// Escape sequences are removed; carriage returns, backspaces and cursor movements within a line have
// their effect, and movements to other lines are ignored. Tabs are the only control characters that
// remain within a line. Characters that reorder or hide text become escapes, and invalid UTF-8
// becomes U+FFFD.
//
// The package splits sequences itself: one without an end must hide nothing from a model, and a log
// that is still written must know whether more input could complete it.
package terminal

import (
	"bytes"
	"iter"
	"strings"
	"unicode/utf8"
)

// maxColumn is the limit of the column to which a sequence can move the cursor.
const maxColumn = 4096

// Text returns a text of any number of lines as a terminal would show it.
func Text(text string) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, special) < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		line, newline := strings.CutSuffix(line, "\n")
		for part := range parts(strings.TrimRight(line, "\r")) {
			b.Write(part)
		}
		if newline {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// special reports whether a character of a text may not be shown as it is.
func special(r rune) bool { return r != '\n' && (isControl(r) || misleads(r)) }

// AppendLine appends the visible text of a line, which must not include its newline.
func AppendLine(dst, line []byte) []byte {
	line = bytes.TrimRight(line, "\r")
	if isPlain(line) {
		return append(dst, line...)
	}
	for part := range parts(string(line)) {
		dst = append(dst, part...)
	}
	return dst
}

// parts yields the visible text of a line in parts, so that a long line does not need memory for a
// second copy. A part is valid until the next one.
func parts(line string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if rewritesText(line) {
			yield(overwritten(line))
			return
		}
		var part []byte
		for len(line) > 0 {
			t := next(line)
			part = t.append(part[:0])
			if !yield(part) {
				return
			}
			line = line[t.size:]
		}
	}
}

// rewritesText reports whether anything in a line changes the text before it.
func rewritesText(line string) bool {
	for len(line) > 0 {
		t := next(line)
		// At the end of the text there is nothing to the right to erase.
		if t.kind > show && !(t.kind == erase && t.n == 0) {
			return true
		}
		line = line[t.size:]
	}
	return false
}

// isPlain reports whether a line is shown unchanged, which is the common case.
func isPlain(line []byte) bool {
	for _, c := range line {
		if c < ' ' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}

// Offset returns the number of bytes of a line that yield its first n shown characters. whole is
// the number of shown characters that these bytes yield; it can be less than n, since an escape
// consists of several. ok is false if the characters do not come in the order of the bytes.
func Offset(raw []byte, n int) (size, whole int, ok bool) {
	line := string(bytes.TrimRight(raw, "\r"))
	if rewritesText(line) {
		return 0, 0, false
	}
	var seen []byte
	for size < len(line) {
		t := next(line[size:])
		seen = t.append(seen[:0])
		more := utf8.RuneCount(seen)
		if whole+more > n {
			break
		}
		whole += more
		size += t.size
	}
	return size, whole, true
}

// overwritten returns the visible text of a line in which the cursor moves back.
func overwritten(line string) (text []byte) {
	var s screen
	at := 0
	for len(line) > 0 {
		t := next(line)
		line = line[t.size:]
		switch t.kind {
		case show:
			s.put(at, t.char)
			at++
		case toColumn:
			at = min(t.n, maxColumn)
		case byColumns:
			if at = max(0, at+t.n); t.n > 0 {
				at = max(at-t.n, min(at, maxColumn))
			}
		case erase:
			s.erase(at, t.n)
		}
	}
	// Blanks at the end remain from a longer text.
	for n := len(s.cells); n > 0 && s.cells[n-1] == ' '; n-- {
		s.cells = s.cells[:n-1]
	}
	for _, c := range s.cells {
		text = appendRune(text, c)
	}
	return text
}

// screen is a line of a terminal.
type screen struct {
	cells []rune // invalid for a byte that is not UTF-8
	blank int    // number of leading cells known to be blank, which need not be erased again
}

func (s *screen) put(at int, r rune) {
	for len(s.cells) < at {
		s.cells = append(s.cells, ' ')
	}
	if at == len(s.cells) {
		s.cells = append(s.cells, r)
	} else {
		s.cells[at] = r
	}
	s.blank = min(s.blank, at)
}

// erase performs the sequence "erase in line": 0 erases to its end, 1 to its start, 2 all of it.
// Other values do nothing.
func (s *screen) erase(at, what int) {
	at = min(at, len(s.cells))
	if what == 1 || what == 2 {
		for ; s.blank < at; s.blank++ {
			s.cells[s.blank] = ' '
		}
	}
	if what == 0 || what == 2 {
		s.cells = s.cells[:at]
		s.blank = min(s.blank, at)
	}
}
