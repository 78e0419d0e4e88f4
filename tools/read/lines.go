package read

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// lines holds consecutive lines for an answer. Lines can be added at the end and removed at
// both ends.
type lines struct {
	buf   []byte // the lines, each followed by a newline
	refs  []ref  // their offsets in buf
	first int    // number of the first line
	used  int    // size of the numbered output, in bytes
}

type ref struct {
	start, end int
	invalid    bool // not valid UTF-8
}

func (l *lines) len() int { return len(l.refs) }

// last returns the number of the last line.
func (l *lines) last() int { return l.first + len(l.refs) - 1 }

// cost returns the size of a line in the numbered output, in bytes.
func cost(number, length int) int { return numberWidth(number) + length + 1 }

func (l *lines) costOf(i int) int { return cost(l.first+i, l.refs[i].end-l.refs[i].start-1) }

// push adds a line, which must be the next one.
func (l *lines) push(number int, text []byte, invalid bool) {
	if len(l.refs) == 0 {
		l.first, l.buf = number, l.buf[:0]
	}
	start := len(l.buf)
	l.buf = append(append(l.buf, text...), '\n')
	l.refs = append(l.refs, ref{start, len(l.buf), invalid})
	l.used += cost(number, len(text))
}

func (l *lines) dropFirst() {
	l.used -= l.costOf(0)
	l.refs = l.refs[1:]
	l.first++
	// Release the memory at the front once dropped lines use more than half of it.
	if len(l.refs) > 0 && l.refs[0].start > len(l.buf)/2 && len(l.buf) > chunk {
		shift := l.refs[0].start
		l.buf = append([]byte(nil), l.buf[shift:]...)
		l.refs = append([]ref(nil), l.refs...)
		for i := range l.refs {
			l.refs[i].start -= shift
			l.refs[i].end -= shift
		}
	}
}

func (l *lines) dropLast() {
	n := len(l.refs) - 1
	l.used -= l.costOf(n)
	l.buf, l.refs = l.buf[:l.refs[n].start], l.refs[:n]
}

func (l *lines) clear() { *l = lines{buf: l.buf[:0]} }

// splitAt removes the lines after the first n and returns them.
func (l *lines) splitAt(n int) lines {
	var rest lines
	for i, r := range l.refs[n:] {
		rest.push(l.first+n+i, l.buf[r.start:r.end-1], r.invalid)
	}
	for len(l.refs) > n {
		l.dropLast()
	}
	return rest
}

// text returns the lines without numbers, each with its newline. The result shares memory
// with l.
func (l *lines) text() []byte {
	if len(l.refs) == 0 {
		return nil
	}
	return l.buf[l.refs[0].start:]
}

// appendNumbered appends the lines with their numbers.
func (l *lines) appendNumbered(b []byte) []byte {
	for i, r := range l.refs {
		b = append(appendNumber(b, l.first+i), l.buf[r.start:r.end]...)
	}
	return b
}

func (l *lines) invalid() (n int) {
	for _, r := range l.refs {
		if r.invalid {
			n++
		}
	}
	return n
}

// numberWidth returns the length of a number and the tab after it.
func numberWidth(n int) int {
	width := 1
	for ; n >= 10; n /= 10 {
		width++
	}
	return width + 1
}

// appendNumber appends a line's number and a tab.
func appendNumber(b []byte, n int) []byte {
	return append(strconv.AppendInt(b, int64(n), 10), '\t')
}

// clip truncates a line to at most n bytes, between characters.
func clip(line []byte, n int) []byte {
	if n = max(n, 0); n >= len(line) {
		return line
	}
	for n > 0 && !utf8.RuneStart(line[n]) {
		n--
	}
	return line[:n]
}

// trimIncompleteRune removes an incomplete character at the end of a truncated line.
func trimIncompleteRune(line []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(line); n++ {
		if last := line[len(line)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return line[:len(line)-n]
			}
			break
		}
	}
	return line
}

// valid returns a line with U+FFFD in place of invalid UTF-8, and whether it had any.
func valid(line []byte) (shown []byte, invalid bool) {
	if utf8.Valid(line) {
		return line, false
	}
	return bytes.ToValidUTF8(line, []byte("\uFFFD")), true
}
