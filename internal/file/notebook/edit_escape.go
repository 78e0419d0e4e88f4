package notebook

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// line is a line of a source, or an item of its list.
type line struct {
	raw  []byte // as in the file, without quotes
	text string
}

// linesOf returns the items of a list, or the lines of a string.
func linesOf(source value) []line {
	var lines []line
	if source.kind() != isString {
		for item := range source.items() {
			lines = append(lines, lineOf(item.data, item.from+1, item.to-1))
		}
		return lines
	}
	from, end := source.from+1, source.to-1
	for i := from; i < end; i++ {
		if source.data[i] != '\\' {
			continue
		}
		i++
		broken := source.data[i] == 'n'
		if source.data[i] == 'u' {
			broken = hex4(source.data[i+1:]) == '\n'
			i += 4
		}
		if broken {
			lines = append(lines, lineOf(source.data, from, i+1))
			from = i + 1
		}
	}
	if from < end {
		lines = append(lines, lineOf(source.data, from, end))
	}
	return lines
}

// lineOf decodes a part of a string.
func lineOf(data []byte, from, to int) line {
	var b strings.Builder
	value{data, from - 1, to + 1}.unquote(&b) // unquote omits a byte at each end
	return line{data[from:to], b.String()}
}

// ascii reports whether the file is written in ASCII only: it contains no other characters, but
// escapes of some. Python writes this by default, nbformat does not.
func (d *draft) ascii() bool {
	text, escaped := d.root.data, false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] >= utf8.RuneSelf:
			return false
		case text[i] == '\\':
			i++
			escaped = escaped || text[i] == 'u' && beyondASCII(text[i+1:])
		}
	}
	return escaped
}

// beyondASCII reports whether the digits of an escape encode a character that is not printable
// ASCII. An unpaired surrogate is not a character, and every writer escapes it.
func beyondASCII(digits []byte) bool {
	r := rune(hex4(digits))
	if utf16.IsSurrogate(r) {
		low, ok := bytes.CutPrefix(digits[4:], []byte(`\u`))
		return ok && utf16.DecodeRune(r, rune(hex4(low))) != utf8.RuneError
	}
	return r > '~'
}

// escape returns text for use within a JSON string, as Python's json writes it with ensure_ascii
// set to ascii.
func escape(text string, ascii bool) []byte {
	b := make([]byte, 0, len(text)+len(text)/8)
	for _, r := range text {
		short := strings.IndexRune("\"\\\n\r\t\b\f", r)
		switch {
		case short >= 0:
			b = append(b, '\\', `"\nrtbf`[short])
		case r >= ' ' && (r <= '~' || !ascii):
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}
