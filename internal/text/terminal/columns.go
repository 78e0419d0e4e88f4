package terminal

import (
	"unicode"
	"unicode/utf8"
)

// Columns returns the number of columns that a line without control characters takes.
func Columns(line string) (n int) {
	for _, r := range line {
		n += columns(r)
	}
	return n
}

// CutColumns returns the beginning of a line that takes at most n columns, of which the last is an
// ellipsis if the line has more.
func CutColumns(line string, n int) string {
	if Columns(line) <= n {
		return line
	}
	taken := 0
	for i, r := range line {
		if taken += columns(r); taken > n-1 {
			return line[:i] + "…"
		}
	}
	return line
}

// columns returns the number of columns of a character.
func columns(r rune) int {
	switch {
	case r < utf8.RuneSelf:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case isWide(r):
		return 2
	}
	return 1
}
