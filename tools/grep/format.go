package grep

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"mcp-toolset/internal/plain"
	"mcp-toolset/internal/search/match"
)

const (
	// widest is the longest line shown whole, in bytes.
	widest = 500
	// before is how much of a longer one is shown in front of what matches.
	before = 100
)

// formatter makes lines as they are shown. It is used by many goroutines.
type formatter struct {
	prefix  string // of paths
	paths   bool   // show them
	numbers bool
	match   *match.Matcher
}

// line appends path:number:text, with - for : beside a match.
func (f *formatter) line(dst []byte, path string, n int, text []byte, hit bool) []byte {
	sep := byte('-')
	if hit {
		sep = ':'
	}
	if f.paths {
		dst = append(append(dst, shownPath(f.prefix, path)...), sep)
	}
	if f.numbers {
		dst = append(strconv.AppendInt(dst, int64(n), 10), sep)
	}
	if len(text) > widest {
		return append(f.cut(dst, text, hit), '\n')
	}
	return append(appendValid(dst, text), '\n')
}

// cut appends the part of a long line around what matches.
func (f *formatter) cut(dst, text []byte, hit bool) []byte {
	from := 0
	if hit {
		if spans := f.match.Spans(text, 1); len(spans) > 0 {
			from = max(0, min(spans[0][0]-before, len(text)-widest))
		}
	}
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	to := from + widest
	for to < len(text) && to > from && !utf8.RuneStart(text[to]) {
		to--
	}
	to = min(to, len(text))
	if from > 0 {
		dst = append(append(append(dst, '['), strconv.Itoa(from)...), " bytes]…"...)
	}
	dst = appendValid(dst, text[from:to])
	if to < len(text) {
		dst = append(append(append(dst, "…["...), strconv.Itoa(len(text)-to)...), " more bytes]"...)
	}
	return dst
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
