package pattern

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcp-toolset/internal/text/fault"
)

// Error describes an error in a pattern and its position.
type Error struct {
	fault.Fault
	Offset int // in bytes, of the beginning of the wrong part; at most the pattern's length
}

// Unwrap returns the fault, for errors.As.
func (e *Error) Unwrap() error { return &e.Fault }

// shown is the limit of characters of the pattern that an error quotes.
const shown = 20

// newError returns an error for a byte offset. The position in its text counts
// characters from 1.
func newError(src string, offset int, fact, next string) *Error {
	offset = min(offset, len(src))
	place := fmt.Sprintf(" at position %d", utf8.RuneCountInString(src[:offset])+1)
	switch rest := []rune(src[offset:]); {
	case len(rest) == 0:
		place = " at the end of the pattern"
	case len(rest) > shown:
		place += ", \"" + visible(rest[:shown]) + "...\""
	default:
		place += ", \"" + visible(rest) + "\""
	}
	return &Error{fault.Fault{Fact: fact + place, Next: next}, offset}
}

// visible returns text unchanged, including backslashes, except for characters that are
// not printable.
func visible(rs []rune) string {
	var b strings.Builder
	for _, r := range rs {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// tooLong returns the error for a pattern longer than maxPattern.
func tooLong(n int) *Error {
	return &Error{fault.Fault{
		Fact: fmt.Sprintf("the pattern has %d bytes; at most %d are read", n, maxPattern),
		Next: "Search for parts of it in several calls.",
	}, maxPattern}
}

// fail ends the parsing with a panic, which Parse recovers.
func (p *parser) fail(offset int, fact, next string) {
	panic(newError(p.src, offset, fact, next))
}

// tooBig ends the parsing because a repeat exceeds a limit.
func (p *parser) tooBig(offset int) {
	p.fail(offset, "the pattern is too large when its repeats are written out: the repeat", `Use a smaller count, or * or +.`)
}
