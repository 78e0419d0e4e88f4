package grep

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"mcp-toolset/internal/file/workspace"
	"mcp-toolset/internal/search"
	"mcp-toolset/internal/text/plain"
)

const (
	// widest is the limit of a line that is shown whole, in characters. An invalid byte
	// counts as one.
	widest = 500
	// before is the number of characters shown before the match in a longer line.
	before = 100
)

// noGap marks a line that looks like the gap between groups of lines. Text that is shown
// never contains this byte, since it is not valid UTF-8.
const noGap = '\xFF'

// formatter formats lines. It is safe for concurrent use.
type formatter struct {
	prefix  string // prefix of paths
	paths   bool   // show paths
	numbers bool
}

// line appends path:number:text for a matching line, and path-number-text for a line around
// a match. at is as in search.Query.Line.
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

// cut appends the part of a line around the offset at, or the whole line if it is short
// enough.
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

// back returns the offset n characters before at.
func back(text []byte, at, n int) int {
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRune(text[:at])
		at -= size
	}
	return at
}

// appendValid appends text, with U+FFFD in place of invalid UTF-8.
func appendValid(dst, text []byte) []byte {
	if utf8.Valid(text) {
		return append(dst, text...)
	}
	return append(dst, bytes.ToValidUTF8(text, []byte("\uFFFD"))...)
}

// binary appends the line for a matching binary file.
func (f *formatter) binary(dst []byte, path string) []byte {
	if f.paths {
		dst = append(append(dst, shownPath(f.prefix, path)...), ": "...)
	}
	return append(dst, "binary file matches\n"...)
}

// shownPath returns a path in a form that is safe to show.
func shownPath(prefix, path string) string { return plain.Text(workspace.ShownPath(prefix, path)) }

// counted returns a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
