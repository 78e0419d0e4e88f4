package grep

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/search"
)

const (
	// widest is the longest line shown whole, in characters; an invalid byte is
	// one.
	widest = 500
	// before is how many characters of a longer one are shown in front of what
	// matches.
	before = 100
)

// noGap marks a line that looks like the gap between groups of lines. Nothing
// that is shown has this byte.
const noGap = '\xFF'

// formatter makes lines as they are shown. It is used by many goroutines.
type formatter struct {
	prefix  string // of paths
	paths   bool   // show them
	numbers bool
}

// line appends path:number:text, with - for : beside a match. at is that of
// search.Query.Line.
func (f *formatter) line(dst []byte, path string, n int, text []byte, at int) []byte {
	sep := byte('-')
	if at >= 0 {
		sep = ':'
	}
	if f.paths {
		dst = append(append(dst, shownPath(f.prefix, path)...), sep)
	}
	if f.numbers {
		dst = append(strconv.AppendInt(dst, int64(n), 10), sep)
	}
	switch {
	case !f.paths && !f.numbers && string(text)+"\n" == search.Gap:
		return append(append(dst, noGap), search.Gap...)
	case len(text) > widest: // in bytes; it may have fewer characters
		return append(cut(dst, text, max(at, 0)), '\n')
	}
	return append(appendValid(dst, text), '\n')
}

// cut appends the part of a line around the place at; all of it if it is not too
// long.
func cut(dst, text []byte, at int) []byte {
	from := back(text, min(at, len(text)), before)
	to := from
	for n := 0; n < widest && to < len(text); n++ {
		_, size := utf8.DecodeRune(text[to:])
		to += size
	}
	if to == len(text) {
		from = back(text, to, widest)
	}
	if from > 0 {
		dst = append(append(append(dst, '['), strconv.Itoa(from)...), " bytes]…"...)
	}
	dst = appendValid(dst, text[from:to])
	if to < len(text) {
		dst = append(append(append(dst, "…["...), strconv.Itoa(len(text)-to)...), " more bytes]"...)
	}
	return dst
}

// back is n characters before a place of a text.
func back(text []byte, at, n int) int {
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRune(text[:at])
		at -= size
	}
	return at
}

// appendValid appends text with U+FFFD for what is not UTF-8.
func appendValid(dst, text []byte) []byte {
	if utf8.Valid(text) {
		return append(dst, text...)
	}
	return append(dst, bytes.ToValidUTF8(text, []byte("\uFFFD"))...)
}

// binary is the line for a binary file.
func (f *formatter) binary(dst []byte, path string) []byte {
	if f.paths {
		dst = append(append(dst, shownPath(f.prefix, path)...), ": "...)
	}
	return append(dst, "binary file matches\n"...)
}

// shownPath is a path as it is shown.
func shownPath(prefix, path string) string { return plain.Text(prefix + path) }

// counted is a number with the noun it counts.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
